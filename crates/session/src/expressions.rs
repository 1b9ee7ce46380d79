//! [`IndexExpressions`]: the expressions of indexes, for rows that ZODB's transactions write outside of statements.

use std::sync::{Arc, Weak};

use object::Expressions;
use parking_lot::Mutex;
use table::catalog::{Catalog, POSTGRES_DATABASE};
use table::rows::RowValues;
use types::SqlState;

use crate::client::StatementContext;
use crate::evaluate::Evaluator;
use crate::files::Files;
use crate::instance::{Instance, now};
use crate::names::{Names, VisibleCatalog};

/// Computes the expressions of indexes with the names of the newest catalog that was asked for.
pub(crate) struct IndexExpressions {
    instance: Weak<Instance>,
    names: Mutex<Option<Arc<Names>>>,
}

impl IndexExpressions {
    /// Those of a database; they do not keep it open.
    pub fn of(instance: &Arc<Instance>) -> IndexExpressions {
        IndexExpressions { instance: Arc::downgrade(instance), names: Mutex::default() }
    }

    fn names(&self, instance: &Instance, catalog: &Arc<Catalog>) -> Arc<Names> {
        let mut kept = self.names.lock();
        if let Some(names) = kept.as_ref().filter(|names| Arc::ptr_eq(&names.catalog, catalog)) {
            return Arc::clone(names);
        }
        let (catalog, present) = (Arc::clone(catalog), Arc::clone(catalog));
        let names = Arc::new(Names::new(
            VisibleCatalog { catalog, present, moment: None },
            Arc::clone(&instance.handles),
            Files::new(instance.env.clone()),
            POSTGRES_DATABASE,
            "postgres",
            &[],
            0,
        ));
        *kept = Some(Arc::clone(&names));
        names
    }
}

impl Expressions for IndexExpressions {
    fn with(
        &self,
        catalog: &Arc<Catalog>,
        f: &mut dyn FnMut(&mut dyn RowValues) -> table::Result<()>,
    ) -> table::Result<()> {
        let closed = || {
            let message = "the database is being closed";
            table::Error::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message)
        };
        let instance = self.instance.upgrade().ok_or_else(closed)?;
        let client = instance.nobody();
        let names = self.names(&instance, catalog);
        let around = StatementContext::of(&client, &names, now(&instance.env));
        let evaluator = Evaluator::new(&around, &names);
        f(&mut evaluator.values())
    }
}
