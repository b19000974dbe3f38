//! The codewords of a QR symbol: data in byte mode, Reed-Solomon codewords behind it (ISO/IEC 18004, sections 7.4 and
//! 7.5).

/// Error correction codewords of one block at level M, and blocks, by version from 1 (table 9).
const LEVEL_M: [(usize, usize); 20] = [
    (10, 1),
    (16, 1),
    (26, 1),
    (18, 2),
    (24, 2),
    (16, 4),
    (18, 4),
    (22, 4),
    (22, 5),
    (26, 5),
    (30, 5),
    (22, 8),
    (22, 9),
    (24, 9),
    (24, 10),
    (28, 10),
    (28, 11),
    (26, 13),
    (26, 14),
    (26, 16),
];
/// The mode indicator of byte mode, 4 bits.
const BYTE_MODE: usize = 0b0100;
/// Padding for the rest of the data, in turn.
const PADDING: [u8; 2] = [0xec, 0x11];

/// The smallest version that holds so many bytes, and all its codewords, blocks interleaved as they are placed.
pub(super) fn of(bytes: &[u8]) -> Option<(usize, Vec<u8>)> {
    let mut versions = (1_usize..).zip(LEVEL_M);
    let (version, (correction, blocks)) = versions.find(|(version, (correction, blocks))| {
        let data = total(*version) - correction * blocks;
        bytes.len() + (4 + length_bits(*version)).div_ceil(8) <= data
    })?;
    let data = data(bytes, version, total(version) - correction * blocks);
    let parts = split(&data, blocks);
    let divisor = generator(correction);
    let remainders: Vec<Vec<u8>> = parts.iter().map(|part| remainder(part, &divisor)).collect();
    let mut words = interleaved(&parts);
    words.extend(interleaved(&remainders));
    Some((version, words))
}

/// Codewords of a version, data and error correction together.
fn total(version: usize) -> usize {
    let mut modules = (16 * version + 128) * version + 64;
    if version >= 2 {
        let aligned = version / 7 + 2;
        modules -= (25 * aligned - 10) * aligned - 55;
    }
    if version >= 7 {
        modules -= 36;
    }
    modules / 8
}

fn length_bits(version: usize) -> usize {
    if version < 10 { 8 } else { 16 }
}

fn data(bytes: &[u8], version: usize, size: usize) -> Vec<u8> {
    let mut bits: Vec<bool> = Vec::with_capacity(size * 8);
    let mut put = |value: usize, length: usize| {
        bits.extend((0..length).rev().map(|bit| value >> bit & 1 == 1));
    };
    put(BYTE_MODE, 4);
    put(bytes.len(), length_bits(version));
    for byte in bytes {
        put(usize::from(*byte), 8);
    }
    let end = (bits.len() + 4).min(size * 8).next_multiple_of(8);
    bits.resize(end, false);
    let byte = |bits: &[bool]| bits.iter().fold(0, |byte, bit| byte << 1 | u8::from(*bit));
    let mut data: Vec<u8> = bits.chunks(8).map(byte).collect();
    let padding = PADDING.iter().cycle().take(size - data.len());
    data.extend(padding);
    data
}

/// Blocks of nearly equal length; the longer ones come last.
fn split(data: &[u8], count: usize) -> Vec<Vec<u8>> {
    let (short, longer) = (data.len() / count, data.len() % count);
    let mut rest = data;
    let block = |number: usize| {
        let length = short + usize::from(number >= count - longer);
        let (block, after) = rest.split_at(length.min(rest.len()));
        rest = after;
        block.to_vec()
    };
    (0..count).map(block).collect()
}

fn interleaved(blocks: &[Vec<u8>]) -> Vec<u8> {
    let longest = blocks.iter().map(Vec::len).max().unwrap_or_default();
    let places =
        (0..longest).flat_map(|place| blocks.iter().filter_map(move |block| block.get(place)));
    places.copied().collect()
}

/// In GF(256) with the polynomial x^8 + x^4 + x^3 + x^2 + 1.
fn multiply(a: u8, b: u8) -> u8 {
    (0..8).rev().fold(0, |product: u8, bit| {
        let carry = if product >> 7 == 1 { 0x1d } else { 0 };
        (product << 1) ^ carry ^ if b >> bit & 1 == 1 { a } else { 0 }
    })
}

/// Coefficients of (x - 2^0)(x - 2^1)…, without the leading one.
fn generator(degree: usize) -> Vec<u8> {
    let mut result = vec![0; degree - 1];
    result.push(1);
    let mut root = 1;
    for _ in 0..degree {
        let shifted: Vec<u8> = result.iter().skip(1).copied().chain([0]).collect();
        let products = result.iter().zip(&shifted);
        result = products
            .map(|(own, next)| multiply(*own, root) ^ next)
            .collect();
        root = multiply(root, 2);
    }
    result
}

fn remainder(data: &[u8], divisor: &[u8]) -> Vec<u8> {
    data.iter().fold(vec![0; divisor.len()], |rest, byte| {
        let factor = byte ^ rest.first().copied().unwrap_or_default();
        let shifted = rest.iter().skip(1).copied().chain([0]);
        let pairs = shifted.zip(divisor);
        pairs
            .map(|(rest, coefficient)| rest ^ multiply(*coefficient, factor))
            .collect()
    })
}
