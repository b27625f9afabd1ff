use std::sync::Arc;

pub struct Ring<T> {
    items: Vec<T>,
}

impl<T> Ring<T> {
    pub fn push(&mut self, t: T) {}
}

pub(crate) async fn drain(r: Arc<Ring<u8>>) -> usize {
    0
}
const fn zero() -> u8 {
    0
}
