//! Everything that is measured under load, started once.

use std::path::Path;

use tempfile::TempDir;

use crate::background::Background;
use crate::bench::nginx::Nginx;
use crate::bench::upstream::Upstream;
use crate::bench::wrk::CONNECTIONS;
use crate::gateway::{Authority, Gateway, GatewayConfig, Storage};
use crate::idp::Idp;
use crate::redis::Redis;
use crate::system::key;

/// Two gateways, one for each store, and nginx, in front of one service.
#[derive(Debug)]
pub(super) struct Stage {
    // Dropped first: they call the gateways.
    _feeds: [Background; 2],
    pub(super) upstream: Upstream,
    pub(super) nginx: Nginx,
    pub(super) embedded: Gateway,
    pub(super) redis: Gateway,
    pub(super) idp: Idp,
    _server: Redis,
    folder: TempDir,
}

impl Stage {
    pub(super) async fn start() -> Stage {
        let folder = tempfile::tempdir().expect("a folder for the bench");
        let root = folder.path();
        let keys = key("drones-1");
        let idp = Idp::start();
        let upstream = Upstream::start(&keys);
        let nginx = Nginx::start(upstream.plain, root);
        let server = Redis::start();
        let config = |name: &str| {
            let state = root.join(name);
            std::fs::create_dir(&state).expect("a folder of ours");
            let mut config = GatewayConfig::new(upstream.verifying, vec![keys.clone()], state);
            config.authority = Authority::Issuer(idp.issuer());
            config.log = "warn".to_owned();
            // One caller makes every write here.
            config.extra = "[limits]\nkeys_per_caller = 1000000".to_owned();
            config
        };
        let embedded = Gateway::start("embedded", config("embedded"), root);
        let mut shared = config("redis");
        shared.storage = Storage::Redis {
            address: server.address(),
            // Every connection of the load may be in a call, twice.
            pool: 2 * CONNECTIONS,
        };
        let redis = Gateway::start("redis-backed", shared, root);
        let feeds = [
            upstream.feed(embedded.ops_address()).await,
            upstream.feed(redis.ops_address()).await,
        ];
        embedded.ready().await;
        redis.ready().await;
        Stage {
            upstream,
            nginx,
            embedded,
            redis,
            idp,
            _feeds: feeds,
            _server: server,
            folder,
        }
    }

    pub(super) fn folder(&self) -> &Path {
        self.folder.path()
    }
}
