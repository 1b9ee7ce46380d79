//! The floor under an HTTP server: the same libraries, set up in the same way, answering everything with
//! the same bytes out of memory.

use std::io::Read;
use std::path::Path;

use axum::Router;
use bytes::Bytes;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Builder;

use crate::Result;

/// Serves the bytes of a file, says where, and ends when its standard input does.
pub fn serve_bytes(file: &Path) -> Result<()> {
    let bytes = Bytes::from(std::fs::read(file)?);
    let router: Router = Router::new().fallback(move || {
        let bytes = bytes.clone();
        async move { ([("content-type", "application/json")], bytes) }
    });
    let runtime = Builder::new_multi_thread().enable_all().build()?;
    let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0"))?;
    println!("{}", listener.local_addr()?);
    runtime.spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(converse(stream, router.clone()));
        }
    });
    std::io::stdin().read_to_end(&mut Vec::new())?;
    runtime.shutdown_background();
    Ok(())
}

async fn converse(stream: TcpStream, router: Router) {
    // A client that goes away is no news.
    let _ = stream.set_nodelay(true);
    let service = TowerToHyperService::new(router);
    let http = auto::Builder::new(TokioExecutor::new());
    let _ = http.serve_connection(TokioIo::new(stream), service).await;
}
