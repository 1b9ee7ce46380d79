//! Encryption: the certificate and key of the server, and the protocols that it offers.

use std::io;
use std::path::Path;
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::crypto::ring::default_provider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use crate::options::Tls;

/// Reads the files, and checks that the key is that of the certificate.
///
/// # Errors
/// Fails if a file cannot be read or is not what it should be, with its name.
pub(crate) fn config(options: &Tls) -> io::Result<Arc<ServerConfig>> {
    let invalid = |path: &Path, error: &dyn std::fmt::Display| {
        io::Error::new(io::ErrorKind::InvalidData, format!("{}: {error}", path.display()))
    };
    let read = |path: &Path| {
        let named =
            |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
        std::fs::read(path).map_err(named)
    };
    let certificates = CertificateDer::pem_slice_iter(&read(&options.certificate)?)
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| invalid(&options.certificate, &error))?;
    if certificates.is_empty() {
        return Err(invalid(&options.certificate, &"there is no certificate in it"));
    }
    let key = PrivateKeyDer::from_pem_slice(&read(&options.key)?)
        .map_err(|error| invalid(&options.key, &error))?;
    let mut config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .and_then(|builder| builder.with_no_client_auth().with_single_cert(certificates, key))
        .map_err(|error| invalid(&options.key, &error))?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}
