//! The PIP: objects and their scopes, in memory.
