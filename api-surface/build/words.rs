//! Understands the words of closed vocabularies, and names the vocabulary
//! when a word is not in it.

use std::fmt::Display;

use crate::compile::fault::{Fault, Law};
use crate::compile::reader::{Located, Reader};
use crate::compile::source::Source;

/// A vocabulary: how it is called, which law it stands for, its words.
pub struct Vocabulary<T: 'static> {
    pub key: &'static str,
    pub law: Law,
    pub parse: fn(&str) -> Option<T>,
    pub all: &'static [T],
}

/// The vocabulary of one of the enums.
macro_rules! vocabulary {
    ($name:ident, $key:literal, $law:ident) => {
        $crate::compile::words::Vocabulary {
            key: $key,
            law: $crate::compile::fault::Law::$law,
            parse: $name::parse,
            all: $name::ALL,
        }
    };
}
pub(crate) use vocabulary;

/// Reads words of one file.
pub struct Words<'a> {
    pub source: &'a Source,
    pub faults: &'a mut Vec<Fault>,
}

impl Words<'_> {
    /// A word that may be absent.
    pub fn may<T: Display>(
        &mut self,
        table: &mut Reader<'_>,
        vocabulary: &Vocabulary<T>,
    ) -> Option<Located<T>> {
        let word = table.text(vocabulary.key, self.faults)?;
        self.word(&word, vocabulary)
    }

    /// A word that must be there.
    pub fn need<T: Display>(
        &mut self,
        table: &mut Reader<'_>,
        vocabulary: &Vocabulary<T>,
    ) -> Option<Located<T>> {
        let word = table.need(vocabulary.key, self.faults)?;
        self.word(&word, vocabulary)
    }

    /// One word.
    pub fn word<T: Display>(
        &mut self,
        word: &Located<String>,
        vocabulary: &Vocabulary<T>,
    ) -> Option<Located<T>> {
        if let Some(value) = (vocabulary.parse)(&word.value) {
            return Some(Located {
                value,
                line: word.line,
            });
        }
        let all: Vec<String> = vocabulary.all.iter().map(ToString::to_string).collect();
        let text = format!(
            "`{}` is no {}; write one of {}",
            word.value,
            vocabulary.key,
            all.join(", ")
        );
        self.faults
            .push(self.source.fault(word.line, vocabulary.law, text));
        None
    }
}
