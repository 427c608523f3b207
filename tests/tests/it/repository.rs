//! What holds for the files and packages of this checkout.

mod dependencies;
mod hygiene;
mod layering;
mod size;
