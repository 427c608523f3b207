//! What operators are told of a process: the fleet service, a device gateway, or both in one.

use std::sync::Arc;

use async_trait::async_trait;
use interlock_guard::ops::{Exposition, Metrics, router};
use interlock_guard::server;
use tokio::net::TcpListener;
use tokio::sync::watch;

use crate::device::Numbers;
use crate::service::Fleet;

mod fleet;

#[cfg(test)]
pub(crate) mod tests;

/// Of whom is told.
pub struct Told {
    /// The fleet service, where the process is one.
    pub fleet: Option<Arc<Fleet>>,
    /// The device gateway, where the process has one.
    pub device: Option<Numbers>,
}

#[async_trait]
impl Metrics for Told {
    async fn write(&self, exposition: &mut Exposition) {
        if let Some(fleet) = &self.fleet {
            fleet::write(fleet, exposition).await;
        }
        if let Some(device) = &self.device {
            device.write(exposition);
        }
    }
}

/// Serves it until `ending` becomes true; without a listener there is nothing to do.
pub async fn serve(listener: Option<TcpListener>, told: Told, ending: watch::Receiver<bool>) {
    if let Some(listener) = listener {
        server::serve(listener, router(Arc::new(told)), ending).await;
    }
}
