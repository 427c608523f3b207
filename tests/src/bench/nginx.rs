//! nginx as a plain proxy: what forwarding costs when nobody is asked.

use std::fs;
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::Command;

use crate::process::Process;
use crate::{poll, ports};

/// One nginx in one process, so that its CPU time is the proxy's.
#[derive(Debug)]
pub(super) struct Nginx {
    pub(super) process: Process,
    pub(super) address: SocketAddr,
}

impl Nginx {
    /// A proxy to `target` with keep-alive on both sides and no access log.
    pub(super) fn start(target: SocketAddr, folder: &Path) -> Nginx {
        for _ in 0..5 {
            let address = ports::free();
            let file = folder.join("nginx.conf");
            fs::write(&file, config(address, target, folder)).expect("a folder of ours");
            // Not on everybody's path.
            let program = if Path::new("/usr/sbin/nginx").exists() {
                "/usr/sbin/nginx"
            } else {
                "nginx"
            };
            let mut command = Command::new(program);
            command.arg("-c").arg(&file).arg("-p").arg(folder);
            let mut process = Process::start("nginx", folder, &mut command);
            let up = poll::until("nginx listens", || {
                if process.ended().is_some() {
                    let said = process.stderr();
                    assert!(said.contains("in use"), "nginx:\n{said}");
                    return Some(false);
                }
                TcpStream::connect(address).is_ok().then_some(true)
            });
            if up {
                return Nginx { process, address };
            }
        }
        panic!("five ports in a row were taken before nginx could listen on them");
    }
}

fn config(address: SocketAddr, target: SocketAddr, folder: &Path) -> String {
    let folder = folder.display();
    format!(
        r#"daemon off;
master_process off;
worker_processes 1;
error_log stderr error;
pid {folder}/nginx.pid;
events {{ worker_connections 1024; }}
http {{
    access_log off;
    client_body_temp_path {folder}/nginx-body;
    proxy_temp_path {folder}/nginx-proxy;
    fastcgi_temp_path {folder}/nginx-fastcgi;
    uwsgi_temp_path {folder}/nginx-uwsgi;
    scgi_temp_path {folder}/nginx-scgi;
    keepalive_requests 1000000000;
    upstream target {{
        server {target};
        keepalive 64;
        keepalive_requests 1000000000;
    }}
    server {{
        listen {address};
        location / {{
            proxy_pass http://target;
            proxy_http_version 1.1;
            proxy_set_header Connection "";
            proxy_set_header Host $http_host;
        }}
    }}
}}
"#
    )
}
