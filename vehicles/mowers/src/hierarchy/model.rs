//! What the hierarchy consists of, as the rows hold it and the API shows it.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::roster::{Member, Reach};

/// An account: the root of a hierarchy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// Its scope id.
    pub id: String,
    /// A label.
    pub name: String,
    /// What its plan includes.
    pub features: Vec<String>,
    /// The time zone of its default site.
    pub time_zone: String,
    /// Only sight, calming and stops are left.
    pub suspended: bool,
    /// Rises with every change below.
    pub hierarchy_rev: u64,
    /// The revision of the account itself.
    pub rev: u64,
}

/// A time of the day in which nothing starts, in the site's time zone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuietHours {
    /// First minute, `HH:MM`.
    pub from: String,
    /// First minute after it; earlier than `from` means the next day.
    pub to: String,
    /// The days on which it begins, `mon` to `sun`.
    pub days: Vec<String>,
    /// Where the rule comes from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
}

/// A site.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Site {
    /// Its id.
    pub id: Uuid,
    /// Its account; not shown.
    #[serde(skip)]
    pub account_id: String,
    /// A label.
    pub name: String,
    /// Where it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// IANA time zone.
    pub time_zone: String,
    /// Degrees north.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latitude: Option<f64>,
    /// Degrees east.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub longitude: Option<f64>,
    /// When nothing may start here.
    pub quiet_hours: Vec<QuietHours>,
    /// The site of mowers that were given none.
    pub is_default: bool,
    /// Its revision; not shown.
    #[serde(skip)]
    pub rev: u64,
    /// When it was made.
    #[serde(serialize_with = "milliseconds")]
    pub created_at: Timestamp,
}

/// A group of mowers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Group {
    /// Its id.
    pub id: Uuid,
    /// Its account; not shown.
    #[serde(skip)]
    pub account_id: String,
    /// A label.
    pub name: String,
    /// The site it belongs to; `None` when it spans sites.
    pub site_id: Option<Uuid>,
    /// Its revision; not shown.
    #[serde(skip)]
    pub rev: u64,
    /// When it was made.
    #[serde(serialize_with = "milliseconds")]
    pub created_at: Timestamp,
}

/// A mower.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Mower {
    /// Its id.
    pub id: Uuid,
    /// Its account; not shown.
    #[serde(skip)]
    pub account_id: String,
    /// A label.
    pub name: String,
    /// Who made it.
    pub vendor: String,
    /// Which model.
    pub model: String,
    /// Serial number, unique in the installation.
    pub serial: String,
    /// How it is reached.
    pub connection: Reach,
    /// Its site.
    pub site_id: Uuid,
    /// The groups it is in, in order.
    pub group_ids: Vec<Uuid>,
    /// Nothing but sight and stops.
    pub quarantined: bool,
    /// Its revision: rises with every change.
    pub hierarchy_rev: u64,
    /// When it was registered.
    #[serde(serialize_with = "milliseconds")]
    pub created_at: Timestamp,
}

impl Mower {
    /// The mower as roster, events and device gateways know it.
    #[must_use]
    pub fn member(&self) -> Member {
        Member {
            mower_id: self.id,
            account_id: self.account_id.clone(),
            site_id: self.site_id,
            group_ids: self.group_ids.clone(),
            hierarchy_rev: self.hierarchy_rev,
            vendor: self.vendor.clone(),
            model: self.model.clone(),
            connection: self.connection.clone(),
            quarantined: self.quarantined,
        }
    }
}

/// One node of the hierarchy.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Node {
    /// An account.
    Account(String),
    /// A site.
    Site(Uuid),
    /// A group.
    Group(Uuid),
    /// A mower.
    Mower(Uuid),
}

impl Node {
    /// Its id as text.
    #[must_use]
    pub fn id(&self) -> String {
        match self {
            Self::Account(id) => id.clone(),
            Self::Site(id) | Self::Group(id) | Self::Mower(id) => id.to_string(),
        }
    }

    /// Its type in the registry.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Account(_) | Self::Site(_) | Self::Group(_) => SCOPE,
            Self::Mower(_) => MOWER,
        }
    }

    /// The word for it in the records.
    pub(super) const fn word(&self) -> &'static str {
        match self {
            Self::Account(_) => "account",
            Self::Site(_) => "site",
            Self::Group(_) => "group",
            Self::Mower(_) => "mower",
        }
    }

    /// The node of a word and an id in the records.
    pub(super) fn read(word: &str, id: &str) -> Option<Self> {
        let uuid = Uuid::try_parse(id).ok();
        match word {
            "account" => Some(Self::Account(id.to_owned())),
            "site" => uuid.map(Self::Site),
            "group" => uuid.map(Self::Group),
            "mower" => uuid.map(Self::Mower),
            _ => None,
        }
    }
}

/// The registry's type of accounts, sites and groups.
pub const SCOPE: &str = "Scope";

/// The registry's type of mowers.
pub const MOWER: &str = "Mower";

/// RFC 3339, UTC, always with three digits behind the second.
pub(crate) fn milliseconds<S: serde::Serializer>(
    at: &Timestamp,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&format_args!("{at:.3}"))
}
