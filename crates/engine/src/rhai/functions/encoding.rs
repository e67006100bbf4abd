use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};
use rhai::{Blob, ImmutableString, NativeCallContext};
use sha2::{Digest, Sha256, Sha512};

use super::definition::{Definition, Functions};
use crate::Limits;
use crate::limits::Piece;
use crate::rhai::native::{Native, failed, too_long};
use hero_model::hex;

pub(super) const DEFINITIONS: &[Definition] = &[
    Definition {
        signature: "base64_encode(data: string|blob) -> string",
        description: "Encodes the bytes of a text (UTF-8) or of a blob as base64, with padding.",
        errors: "",
        example: r#"base64_encode("hello")"#,
        result: r#""aGVsbG8=""#,
    },
    Definition {
        signature: "base64_decode(text: string) -> string",
        description: "Decodes a text from base64, with or without padding, in the standard alphabet or in that for URLs.",
        errors: "the input is not base64, or the decoded bytes are not UTF-8 text; `base64_decode_blob` decodes those.",
        example: r#"base64_decode("aGVsbG8")"#,
        result: r#""hello""#,
    },
    Definition {
        signature: "base64_decode_blob(text: string) -> blob",
        description: "Decodes bytes from base64, like `base64_decode` for a text.",
        errors: "the input is not base64.",
        example: r#"base64_decode_blob("AP8=").len()"#,
        result: "2",
    },
    Definition {
        signature: "sha256(data: string|blob) -> string",
        description: "Returns the SHA-256 hash of the bytes of a text (UTF-8) or of a blob, in hexadecimal digits.",
        errors: "",
        example: r#"sha256("abc")"#,
        result: r#""ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad""#,
    },
    Definition {
        signature: "sha512(data: string|blob) -> string",
        description: "Returns the SHA-512 hash of the bytes of a text (UTF-8) or of a blob, in hexadecimal digits.",
        errors: "",
        example: r#"sha512("abc").sub_string(0, 16)"#,
        result: r#""ddaf35a193617aba""#,
    },
];

const BASE64: GeneralPurpose =
    GeneralPurpose::new(&STANDARD, GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent));

pub(super) fn add(functions: &mut Functions<'_>) {
    functions.add("base64_encode", |context: NativeCallContext, text: &str| encoded(&context, text.as_bytes()));
    functions.add("base64_encode", |context: NativeCallContext, bytes: &mut Blob| encoded(&context, bytes));
    functions.add("base64_decode", |context: NativeCallContext, text: &str| -> Native<ImmutableString> {
        let text = String::from_utf8(decoded(&context, text)?);
        text.map(Into::into).map_err(|_| failed(&context, "the base64 stands for bytes that are no text; base64_decode_blob reads them"))
    });
    functions.add("base64_decode_blob", |context: NativeCallContext, text: &str| {
        let bytes = decoded(&context, text)?;
        if bytes.len() > Limits::TEXT { Err(too_long(&context, Piece::Text)) } else { Ok(bytes) }
    });
    functions.add("sha256", |text: &str| ImmutableString::from(hex(&Sha256::digest(text))));
    functions.add("sha256", |bytes: &mut Blob| ImmutableString::from(hex(&Sha256::digest(bytes))));
    functions.add("sha512", |text: &str| ImmutableString::from(hex(&Sha512::digest(text))));
    functions.add("sha512", |bytes: &mut Blob| ImmutableString::from(hex(&Sha512::digest(bytes))));
}

fn encoded(context: &NativeCallContext<'_>, bytes: &[u8]) -> Native<ImmutableString> {
    if bytes.len().div_ceil(3) * 4 > Limits::TEXT {
        return Err(too_long(context, Piece::Text));
    }
    Ok(BASE64.encode(bytes).into())
}

fn decoded(context: &NativeCallContext<'_>, text: &str) -> Native<Blob> {
    let usual = text.replace('-', "+").replace('_', "/");
    BASE64.decode(usual).map_err(|error| failed(context, format!("the text is no base64: {error}")))
}
