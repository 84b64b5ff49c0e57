//! Ids: numbers that name one of many things of a kind, such as a page or a member of an array. `id!` makes a type for
//! each kind, so that the number of one kind cannot be used for another kind. An id is as large and as fast as its number.
//!
//! The keys of a slab are made with `slab_key!`: only the slab gives them out.

/// What all ids have in common.
pub trait Id: Copy {
    /// The place of the thing in an array of all things of its kind.
    fn index(self) -> usize;
}

/// Declares an id: `id!(/// A page of the tables. pub PageNo(u32));`. With `or NONE` behind it, the highest number names
/// no thing.
#[macro_export]
macro_rules! id {
    ($(#[$attribute:meta])* $visibility:vis $name:ident($number:ty) or NONE) => {
        $crate::id!($(#[$attribute])* $visibility $name($number));

        impl $name {
            /// No thing. It takes no room beside the number, which an `Option` would.
            pub const NONE: Self = Self(<$number>::MAX);

            /// The thing; None for `NONE`.
            #[inline]
            pub fn some(self) -> Option<Self> {
                (self != Self::NONE).then_some(self)
            }
        }
    };
    ($(#[$attribute:meta])* $visibility:vis $name:ident($number:ty)) => {
        $(#[$attribute])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        $visibility struct $name($number);

        impl $name {
            /// The thing with this number.
            #[inline]
            pub const fn new(number: $number) -> Self {
                Self(number)
            }

            /// Its number, from 0 on.
            #[inline]
            pub const fn number(self) -> $number {
                self.0
            }

            /// Its place in an array of all things of its kind.
            #[inline]
            pub const fn index(self) -> usize {
                self.0 as usize
            }

            /// The first `count` things.
            #[inline]
            pub fn first(count: $number) -> impl DoubleEndedIterator<Item = Self> + Clone {
                (0..count).map(Self)
            }
        }

        impl $crate::ids::Id for $name {
            #[inline]
            fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use super::Id;

    crate::id!(Seat(u32) or NONE);
    crate::id!(Row(u64));

    #[test]
    fn an_id_is_its_number() {
        let seat = Seat::new(3);
        assert_eq!((seat.number(), seat.index(), Id::index(seat), seat.to_string()), (3, 3, 3, "3".to_owned()));
        assert_eq!((seat.some(), Seat::NONE.some()), (Some(seat), None));
        assert_eq!(Row::first(3).map(Row::number).collect::<Vec<_>>(), [0, 1, 2]);
        assert_eq!((Seat::first(4).next_back(), Row::new(7).index()), (Some(seat), 7));
        assert_eq!((size_of::<Seat>(), size_of::<Row>()), (4, 8));
    }
}
