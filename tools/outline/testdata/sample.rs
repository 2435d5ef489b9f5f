/* fn commented() {} /* nested */ struct No; */
use std::fmt;

pub const LIMIT: usize = 20;
static NAME: &str = "fn in_string() {";
type Names = Vec<String>;

#[derive(Debug)]
pub struct Cart<'a, T> {
    items: &'a [T],
}

pub enum Level {
    Low,
    High(char),
}

pub trait Price {
    const TAX: f64;
    fn of(&self) -> f64;
    fn twice(&self) -> f64 {
        self.of() * 2.0
    }
}

impl<'a, T: Price> Cart<'a, T> {
    pub fn new(items: &'a [T]) -> Self {
        let quote = '"';
        fn inner() {}
        Cart { items }
    }

    pub(crate) async unsafe fn total<F>(
        &self,
        f: F,
    ) -> f64
    where
        F: Fn(f64) -> f64,
    {
        0.0
    }
}

impl<T> fmt::Display for Cart<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, r#"fn raw() "{"#)
    }
}

mod tests {
    #[test]
    fn adds() {}
}

macro_rules! cart {
    ($($x:expr),*) => {};
}

fn main() {}
