//! The scope hierarchy: account > site > group, any depth, several parents.

use std::collections::{BTreeMap, HashMap};

/// Parents and ancestors of every registered scope. A scope that nobody
/// registered is a root: an account.
#[derive(Clone, Debug, Default)]
pub(super) struct ScopeTable {
    parents: BTreeMap<String, Vec<String>>,
    ancestors: HashMap<String, Vec<String>>,
}

impl ScopeTable {
    /// Sets a scope's parents, or forgets the scope with `None`.
    pub(super) fn set(&mut self, id: &str, parents: Option<&Vec<String>>) {
        match parents {
            Some(parents) => self.parents.insert(id.to_owned(), parents.clone()),
            None => self.parents.remove(id),
        };
        self.ancestors = self
            .parents
            .keys()
            .map(|scope| (scope.clone(), self.walk(scope)))
            .collect();
    }

    /// Adds `scope` and its ancestors to `found`, each once.
    pub(super) fn collect(&self, scope: &str, found: &mut Vec<String>) {
        add(scope, found);
        for ancestor in self.ancestors.get(scope).into_iter().flatten() {
            add(ancestor, found);
        }
    }

    /// Ancestors of one scope. A cycle ends where it closes: each scope is
    /// visited once.
    fn walk(&self, scope: &str) -> Vec<String> {
        let mut found = Vec::new();
        let mut open = vec![scope];
        while let Some(next) = open.pop() {
            for parent in self.parents.get(next).into_iter().flatten() {
                if parent != scope && !found.contains(parent) {
                    found.push(parent.clone());
                    open.push(parent);
                }
            }
        }
        found
    }
}

fn add(scope: &str, found: &mut Vec<String>) {
    if !found.iter().any(|known| known == scope) {
        found.push(scope.to_owned());
    }
}
