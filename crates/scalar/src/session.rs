//! Functions that the context answers: the moment of the statement, the user, names of objects.

use types::format::DateTemplate;
use types::{Modifier, Oid, Type};

use crate::datetime::zone;
use crate::function::{Function, functions};

pub(crate) const TABLE: &[Function] = functions! {
    1299 now() -> TIMESTAMPTZ [stable] = (call;) call.context.types.now;
    2647 transaction_timestamp() -> TIMESTAMPTZ [stable] = (call;) call.context.types.now;
    2648 statement_timestamp() -> TIMESTAMPTZ [stable] = (call;) call.context.statement;
    2649 clock_timestamp() -> TIMESTAMPTZ [volatile] = (call;) call.context.clock.now();
    274 timeofday() -> TEXT [volatile] = (call;)
        DateTemplate::new("Dy Mon DD HH24:MI:SS.US YYYY TZ")
            .timestamptz(call.context.clock.now(), zone(call));
    861 current_database() -> NAME [stable] = (call;) call.context.session.database();
    745 current_user() -> NAME [stable] = (call;) call.context.session.user();
    746 session_user() -> NAME [stable] = (call;) call.context.session.session_user();
    1079 regclass(TEXT) -> REGCLASS [stable] = (call; name: &str)
        types::text::parse(name, Type::REGCLASS, Modifier::NONE, &call.context.types);
    5071 xid(XID8) -> XID = (a: i64) Oid(a as u32);
};
