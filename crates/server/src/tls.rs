//! Encryption: the server's certificate and key, ready for use, and the data for channel binding of
//! SCRAM.
//!
//! ```text
//!   certificate.pem, key.pem ──> rustls::ServerConfig        one for all connections
//!                            └─> hash of the certificate     tls-server-end-point (RFC 5929)
//! ```

use std::io;
use std::sync::Arc;

use ring::digest;
use rustls::ServerConfig;
use rustls::crypto::ring::default_provider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use crate::options::Tls;

/// The name of the protocol, which a client says that begins with TLS without asking.
pub(crate) const PROTOCOL: &[u8] = b"postgresql";

/// The configuration that connections are encrypted with.
pub(crate) struct Encryption {
    pub(crate) config: Arc<ServerConfig>,
    /// The data that an authentication can be bound to; none if the certificate's signature has
    /// no hash that everybody agrees on.
    pub(crate) certificate_hash: Option<Vec<u8>>,
    /// True if connections from other machines must be encrypted.
    pub(crate) is_required: bool,
}

impl Encryption {
    /// Reads the files and checks that the key is that of the certificate.
    ///
    /// # Errors
    /// Fails if a file cannot be read or is not what it should be, with its name.
    pub(crate) fn load(options: &Tls) -> io::Result<Self> {
        let (certificates, key) = options.read()?;
        let invalid = |path: &std::path::Path, error: &dyn std::fmt::Display| {
            let text = format!("{}: {error}", path.display());
            io::Error::new(io::ErrorKind::InvalidData, text)
        };
        let certificates = CertificateDer::pem_slice_iter(&certificates)
            .collect::<Result<Vec<_>, _>>()
            .map_err(|error| invalid(&options.certificate, &error))?;
        let Some(first) = certificates.first() else {
            return Err(invalid(&options.certificate, &"there is no certificate in it"));
        };
        let certificate_hash = certificate_hash(first);
        let key =
            PrivateKeyDer::from_pem_slice(&key).map_err(|error| invalid(&options.key, &error))?;
        let mut config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
            .with_safe_default_protocol_versions()
            .and_then(|builder| builder.with_no_client_auth().with_single_cert(certificates, key))
            .map_err(|error| invalid(&options.key, &error))?;
        config.alpn_protocols = vec![PROTOCOL.to_vec()];
        let is_required = options.is_required;
        Ok(Self { config: Arc::new(config), certificate_hash, is_required })
    }
}

/// The hash of a certificate, by the function that it was signed with; SHA-256 instead of what is
/// weaker.
fn certificate_hash(certificate: &[u8]) -> Option<Vec<u8>> {
    // Certificate ::= SEQUENCE { what is signed, SEQUENCE { the algorithm as an OID, ... }, ... }
    let (_, mut whole) = element(&mut &certificate[..])?;
    element(&mut whole)?;
    let (_, mut algorithm) = element(&mut whole)?;
    let (tag, oid) = element(&mut algorithm)?;
    const OID: u8 = 6;
    // 1.2.840.113549.1.1: RSA, 1.2.840.10045.4.3: ECDSA; the last number tells the hash.
    const RSA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01];
    const ECDSA: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03];
    let (last, family) = oid.split_last()?;
    let hash = match (tag, family, last) {
        (OID, RSA, 4 | 5 | 11) | (OID, ECDSA, 2) => &digest::SHA256,
        (OID, RSA, 12) | (OID, ECDSA, 3) => &digest::SHA384,
        (OID, RSA, 13) | (OID, ECDSA, 4) => &digest::SHA512,
        _ => return None,
    };
    Some(digest::digest(hash, certificate).as_ref().to_vec())
}

/// Takes the next element of DER off the front: its tag and its content.
fn element<'a>(bytes: &mut &'a [u8]) -> Option<(u8, &'a [u8])> {
    let (&[tag, length], mut rest) = bytes.split_first_chunk()?;
    let length = match length {
        0..=0x7f => usize::from(length),
        0x81..=0x84 => {
            let (length, after) = rest.split_at_checked(usize::from(length & 0x7f))?;
            rest = after;
            length.iter().fold(0, |sum, byte| sum << 8 | usize::from(*byte))
        }
        _ => return None,
    };
    let (content, rest) = rest.split_at_checked(length)?;
    *bytes = rest;
    Some((tag, content))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A certificate as short as one can be, signed with a given algorithm.
    fn certificate(algorithm: &[u8]) -> Vec<u8> {
        let wrap =
            |tag: u8, content: &[u8]| [&[tag, 0x82, 0, content.len() as u8][..], content].concat();
        let algorithm = wrap(0x30, &wrap(6, algorithm));
        wrap(0x30, &[wrap(0x30, b"what is signed"), algorithm, wrap(3, b"signature")].concat())
    }

    /// The hash is that of the signature; where it has none, nothing is bound.
    #[test]
    fn hashes_by_signature() {
        let length = |oid: &[u8]| certificate_hash(&certificate(oid)).map(|hash| hash.len());
        assert_eq!(length(&[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 11]), Some(32));
        assert_eq!(length(&[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 5]), Some(32));
        assert_eq!(length(&[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 3]), Some(48));
        assert_eq!(length(&[0x2b, 0x65, 0x70]), None);
        let whole = certificate(&[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 3]);
        for end in 0..whole.len() {
            assert_eq!(certificate_hash(&whole[..end]), None, "cut at {end}");
        }
    }
}
