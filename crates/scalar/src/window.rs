//! Window functions: signatures only.
//!
//! Their results depend on the other rows of the window, which the window operator knows; their
//! [`Eval`](crate::Eval) is `Window`.

use crate::function::{Function, signatures};

pub(crate) const TABLE: &[Function] = signatures! { Window
    3104 cume_dist() -> FLOAT8 [nullable];
    3102 dense_rank() -> INT8 [nullable];
    3112 first_value(ANYELEMENT) -> ANYELEMENT;
    3106 lag(ANYELEMENT) -> ANYELEMENT;
    3107 lag(ANYELEMENT, INT4) -> ANYELEMENT;
    3108 lag(ANYCOMPATIBLE, INT4, ANYCOMPATIBLE) -> ANYCOMPATIBLE;
    3113 last_value(ANYELEMENT) -> ANYELEMENT;
    3109 lead(ANYELEMENT) -> ANYELEMENT;
    3110 lead(ANYELEMENT, INT4) -> ANYELEMENT;
    3111 lead(ANYCOMPATIBLE, INT4, ANYCOMPATIBLE) -> ANYCOMPATIBLE;
    3114 nth_value(ANYELEMENT, INT4) -> ANYELEMENT;
    3105 ntile(INT4) -> INT4;
    3103 percent_rank() -> FLOAT8 [nullable];
    3101 rank() -> INT8 [nullable];
    3100 row_number() -> INT8 [nullable];
};
