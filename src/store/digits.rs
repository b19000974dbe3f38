//! Numbers as text, where that is done so often that the formatter of the standard library would be felt.

use std::net::Ipv4Addr;

/// The decimal digits of `number`, at least `width` of them, by zeros in front; they lie in `room`.
pub(crate) fn digits(mut number: u64, width: usize, room: &mut [u8; 20]) -> &str {
    let least = room.len().saturating_sub(width.max(1));
    let mut begin = room.len();
    for (at, digit) in room.iter_mut().enumerate().rev() {
        if number == 0 && at < least {
            break;
        }
        *digit = b'0' + u8::try_from(number % 10).expect("one digit");
        number /= 10;
        begin = at;
    }
    let digits = room.get(begin..).expect("no more than there is room");
    std::str::from_utf8(digits).expect("digits are ASCII")
}

/// An address as its four numbers, which lie in `room`.
pub(crate) fn dotted(address: Ipv4Addr, room: &mut [u8; 16]) -> &str {
    let mut length = 0;
    for octet in address.octets() {
        let mut number = [0; 20];
        let number = digits(octet.into(), 1, &mut number).as_bytes();
        let part = number.iter().chain(b".");
        for (to, byte) in room.iter_mut().skip(length).zip(part) {
            *to = *byte;
            length += 1;
        }
    }
    let text = room.get(..length - 1).expect("four numbers and dots fit");
    std::str::from_utf8(text).expect("digits and dots are ASCII")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_written_as_everywhere() {
        for octets in [[0; 4], [255; 4], [127, 0, 0, 1], [10, 200, 9, 30]] {
            let address = Ipv4Addr::from(octets);
            assert_eq!(dotted(address, &mut [b'x'; 16]), address.to_string());
        }
    }

    #[test]
    fn a_number_is_written_whole_and_filled_with_zeros() {
        for number in [0, 7, 10, 99, 100, 65_535, u64::MAX - 1, u64::MAX] {
            for width in [0, 1, 2, 4, 20] {
                let text = format!("{number:0width$}");
                assert_eq!(digits(number, width, &mut [b'x'; 20]), text);
            }
        }
    }
}
