//! Drawn avatars: a symmetric pattern of 5 by 5 fields in one color; pattern and color derive from the DID's hash.

use sha2::{Digest, Sha256};

const FIELDS: usize = 5;

/// Draws the avatar of a DID as an SVG of 80 by 80 units.
#[must_use]
pub fn draw(did: &str) -> String {
    let hash = Sha256::digest(did.as_bytes());
    let hue = (u32::from(hash[0]) << 8 | u32::from(hash[1])) % 360;
    let mut fields = String::new();
    for row in 0..FIELDS {
        for column in 0..FIELDS {
            // Mirror the left columns at the middle column.
            let mirrored = column.min(FIELDS - 1 - column);
            if hash[2 + row * 3 + mirrored] & 1 == 1 {
                fields.push_str(&format!("<rect x=\"{}\" y=\"{}\" width=\"12\" height=\"12\"/>", 10 + column * 12, 10 + row * 12));
            }
        }
    }
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 80 80\" role=\"img\">\
         <rect width=\"80\" height=\"80\" rx=\"12\" fill=\"hsl({hue} 40% 92%)\"/><g fill=\"hsl({hue} 55% 38%)\">{fields}</g></svg>"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn avatars_are_deterministic_and_differ_between_dids() {
        assert_eq!(draw("z1a"), draw("z1a"));
        assert_ne!(draw("z1a"), draw("z1b"));
    }
}
