//! Serves a folder, for trying things out: `serve FOLDER [PORT]`, until Enter is pressed.
//!
//! ```sh
//! cargo run --release -p server --example serve -- data 5433
//! psql -h 127.0.0.1 -p 5433 -U postgres
//! ```

mod open;

use std::error::Error;
use std::path::PathBuf;

use server::{Options, Server};
use vfs::Env;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().ok_or("usage: serve FOLDER [PORT]")?;
    let port = arguments.next().map_or(Ok(5433), |port| port.parse())?;
    let instance = open::instance(&Env::os(), &PathBuf::from(folder))?;
    let options = Options { listen: vec![([127, 0, 0, 1], port).into()], ..Options::default() };
    let handle = Server::start(instance, options)?;
    println!("psql -h 127.0.0.1 -p {port} -U postgres");
    std::io::stdin().read_line(&mut String::new())?;
    print!("{}", handle.metrics().prometheus());
    handle.shutdown();
    Ok(())
}
