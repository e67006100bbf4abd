//! Constant texts that are compressed once. Compressed answers are assembled from them.

use flate2::{Compress, Compression, Crc, FlushCompress};

/// The head of a gzip file without a name and a time.
const HEAD: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff];
/// The last block, which is empty.
const END: [u8; 5] = [1, 0, 0, 0xff, 0xff];

/// A text as whole blocks of deflate (RFC 1951) that refer to nothing before them.
#[derive(Debug)]
pub(super) struct GzipText {
    blocks: Vec<u8>,
    crc: Crc,
}

impl GzipText {
    /// Compresses a text with the best ratio, which takes long.
    pub(super) fn of(text: &[u8]) -> Self {
        let (mut deflate, mut crc) = (Compress::new(Compression::best(), false), Crc::new());
        let mut blocks = Vec::with_capacity(text.len() / 4);
        // The compressor has written everything once room is left.
        while blocks.len() == blocks.capacity() || (deflate.total_in() as usize) < text.len() {
            blocks.reserve(4096);
            let rest = &text[deflate.total_in() as usize..];
            deflate.compress_vec(rest, &mut blocks, FlushCompress::Full).expect("nothing is wrong with a text");
        }
        crc.update(text);
        Self { blocks, crc }
    }

    /// Returns it with these bytes around it as one gzip file (RFC 1952). These bytes are not compressed, so there should be few.
    pub(super) fn between(&self, before: &[u8], behind: &[u8]) -> Vec<u8> {
        let mut file = Vec::with_capacity(self.blocks.len() + before.len() + behind.len() + 64);
        let mut crc = Crc::new();
        file.extend(HEAD);
        store(&mut file, before);
        crc.update(before);
        file.extend(&self.blocks);
        crc.combine(&self.crc);
        store(&mut file, behind);
        crc.update(behind);
        file.extend(END);
        file.extend(crc.sum().to_le_bytes());
        file.extend(crc.amount().to_le_bytes());
        file
    }
}

/// Writes bytes as uncompressed blocks.
fn store(file: &mut Vec<u8>, bytes: &[u8]) {
    for block in bytes.chunks(usize::from(u16::MAX)) {
        let length = block.len() as u16;
        file.push(0);
        file.extend(length.to_le_bytes());
        file.extend((!length).to_le_bytes());
        file.extend(block);
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;

    #[test]
    fn text_around_a_compressed_text_is_decompressed_with_it() {
        let mut random = 1_u64;
        let mut noise = move || {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (random >> 33) as u8
        };
        let noise: Vec<u8> = (0..200_000).map(|_| noise()).collect();
        let texts: [&[u8]; 4] = [b"", b"a", &b"one line of many\n".repeat(50_000), &noise];
        for text in texts {
            let gzip = GzipText::of(text);
            for (before, behind) in [(&b""[..], &b""[..]), (b"{\"id\":7,", b"}"), (&noise[..70_000], &noise[..65_535])] {
                let file = gzip.between(before, behind);
                let mut read = Vec::new();
                // The reader checks the checksum and the length.
                flate2::read::GzDecoder::new(&file[..]).read_to_end(&mut read).unwrap();
                assert!(read == [before, text, behind].concat(), "{} {} {}", before.len(), text.len(), behind.len());
                assert!(file.len() < text.len() / 50 + before.len() + behind.len() + 100 || text == noise);
            }
        }
    }
}
