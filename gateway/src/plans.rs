//! The plan engine: propose, approve, dispatch, settle.
