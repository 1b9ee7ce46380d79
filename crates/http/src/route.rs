//! [`Route`]: one operation, for the router and for the description.

use std::future::Future;
use std::pin::Pin;

use crate::answer::{Answer, JSON};
use crate::auth::Right;
use crate::call::Call;
use crate::problem::Result;

/// Does an operation.
pub(crate) type Handler = fn(&mut Call) -> Result<Answer>;
/// Does an operation that goes on for as long as the client listens.
pub(crate) type Following = fn(Call) -> Pin<Box<dyn Future<Output = Result<Answer>> + Send>>;

/// Where an operation is done.
#[derive(Clone, Copy)]
pub(crate) enum Run {
    /// On the thread of the connection, if it is short; else as `Long`.
    Short(Handler),
    /// On a thread that may wait.
    Long(Handler),
    /// As a task.
    Following(Following),
}

/// The right that an operation needs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Needs {
    /// Any caller, known or not.
    Nothing,
    /// A known caller; the handler checks its rights.
    Somebody,
    /// This right in the collection of the path, or in all collections where the path names none.
    Right(Right),
}

/// The kind of body that an operation takes.
#[derive(Clone, Copy)]
pub(crate) enum Takes {
    Nothing,
    /// A body of one of these types, as a whole, with an example; none at all where it may be missing.
    Whole {
        media: &'static [&'static str],
        example: &'static str,
        is_optional: bool,
    },
    /// A document of any length.
    Document,
}

/// The form of a parameter.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Text,
    Number,
    /// A number that is 1 at least.
    Positive,
    /// The number of a revision, or a time.
    Revision,
    Flag,
    Time,
    OneOf(&'static [&'static str]),
}

/// A parameter.
#[derive(Clone, Copy)]
pub(crate) struct Parameter {
    pub(crate) name: &'static str,
    pub(crate) form: Form,
    pub(crate) about: &'static str,
    /// True if the operation cannot do without.
    pub(crate) is_wanted: bool,
    /// An example, where it, or another in its place, is wanted.
    pub(crate) example: Option<&'static str>,
}

/// An answer that is no error.
#[derive(Clone, Copy)]
pub(crate) struct Gives {
    pub(crate) status: u16,
    pub(crate) media: Option<&'static str>,
    pub(crate) about: &'static str,
}

/// An operation.
#[derive(Clone, Copy)]
pub(crate) struct Route {
    pub(crate) method: &'static str,
    pub(crate) path: &'static str,
    /// Its name for programs.
    pub(crate) id: &'static str,
    pub(crate) about: &'static str,
    pub(crate) needs: Needs,
    pub(crate) takes: Takes,
    pub(crate) gives: &'static [Gives],
    pub(crate) run: Run,
    /// The name of the form of each type of body that it takes; where there is none it is anything.
    pub(crate) shapes: &'static [&'static str],
    /// The name of the form of its JSON answers.
    pub(crate) shows: &'static str,
    parameters: &'static [&'static [Parameter]],
}

impl Route {
    /// An operation without a body that returns JSON, for callers with the right to view.
    pub(crate) const fn new(
        method: &'static str,
        path: &'static str,
        id: &'static str,
        about: &'static str,
        run: Run,
    ) -> Route {
        const OK: &[Gives] = &[gives(200, Some(JSON), "The requested data")];
        Route {
            method,
            path,
            id,
            about,
            needs: Needs::Right(Right::View),
            takes: Takes::Nothing,
            gives: OK,
            run,
            shapes: &[],
            shows: "Json",
            parameters: &[],
        }
    }

    pub(crate) const fn needs(mut self, needs: Needs) -> Route {
        self.needs = needs;
        self
    }

    pub(crate) const fn right(self, right: Right) -> Route {
        self.needs(Needs::Right(right))
    }

    pub(crate) const fn takes(mut self, takes: Takes) -> Route {
        self.takes = takes;
        self
    }

    /// With a JSON body like this.
    pub(crate) const fn takes_json(self, example: &'static str) -> Route {
        self.takes(Takes::Whole { media: &[JSON], example, is_optional: false })
    }

    /// With bodies of this form, in the order of their types.
    pub(crate) const fn shaped(mut self, shapes: &'static [&'static str]) -> Route {
        self.shapes = shapes;
        self
    }

    /// With JSON answers of this form.
    pub(crate) const fn shows(mut self, form: &'static str) -> Route {
        self.shows = form;
        self
    }

    pub(crate) const fn gives(mut self, gives: &'static [Gives]) -> Route {
        self.gives = gives;
        self
    }

    pub(crate) const fn with(mut self, parameters: &'static [&'static [Parameter]]) -> Route {
        self.parameters = parameters;
        self
    }

    /// True if it may change something, or run what does.
    pub(crate) fn is_change(&self) -> bool {
        !["GET", "HEAD"].contains(&self.method)
    }

    /// The parameters that it knows.
    pub(crate) fn parameters(&self) -> impl Iterator<Item = &'static Parameter> {
        self.parameters.iter().copied().flatten()
    }

    /// The names in the path.
    pub(crate) fn parts(&self) -> impl Iterator<Item = &'static str> {
        let parts = self.path.split('/');
        parts.filter_map(|part| part.strip_prefix('{').and_then(|part| part.strip_suffix('}')))
    }
}

/// An answer that is no error.
pub(crate) const fn gives(status: u16, media: Option<&'static str>, about: &'static str) -> Gives {
    Gives { status, media, about }
}

/// A parameter that may be given.
pub(crate) const fn may(name: &'static str, form: Form, about: &'static str) -> Parameter {
    Parameter { name, form, about, is_wanted: false, example: None }
}

/// A parameter that must be given.
pub(crate) const fn must(
    name: &'static str,
    form: Form,
    about: &'static str,
    example: &'static str,
) -> Parameter {
    Parameter { name, form, about, is_wanted: true, example: Some(example) }
}

/// A parameter that must be given, unless another is in its place.
pub(crate) const fn either(
    name: &'static str,
    form: Form,
    about: &'static str,
    example: &'static str,
) -> Parameter {
    Parameter { name, form, about, is_wanted: false, example: Some(example) }
}
