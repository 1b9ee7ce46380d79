//! Differences that were found beside PostgreSQL, each with its story.
