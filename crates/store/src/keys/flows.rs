//! Keys of flows. Functions build them, too.

use super::Keys;
use hero_model::FlowId;

impl Keys {
    /// The hash of a flow.
    pub fn flow(&self, id: FlowId) -> String {
        format!("{}flow:{id}", self.prefix)
    }

    /// The hash of a job in the runner layout.
    pub fn runner_job(&self, caller: u32, number: u32) -> String {
        format!("{}job:{caller}:{number}", self.prefix)
    }

    /// The numbers of all flows, in order.
    pub fn flows(&self) -> String {
        self.key(format_args!("meta:flows"))
    }

    /// Flows with pending work on all of their jobs, by the time when a server must check.
    pub fn flows_to_do(&self) -> String {
        self.key(format_args!("q:flows"))
    }
}
