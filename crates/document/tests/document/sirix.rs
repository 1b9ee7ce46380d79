//! The examples of SirixDB's documentation, and how they come out here.
