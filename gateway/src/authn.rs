//! Who is calling: bearer tokens, key sets, principals.
