//! Dependencies point one way.

use std::collections::{BTreeMap, BTreeSet};

use cargo_metadata::MetadataCommand;
use interlock_tests::repository;

/// Which packages of this workspace a package may depend on: in code, in its
/// build script and in its tests. What is not listed is not allowed.
const ALLOWED: &[(&str, &[&str])] = &[
    ("interlock-surface", &[]),
    ("interlock-policies", &["interlock-surface"]),
    (
        "interlock-gateway",
        &["interlock-surface", "interlock-policies"],
    ),
    ("interlock-guard", &["interlock-surface"]),
    (
        "interlock-drones",
        &["interlock-surface", "interlock-guard"],
    ),
    (
        "interlock-mowers",
        &["interlock-surface", "interlock-guard"],
    ),
    (
        "interlock-tests",
        &[
            "interlock-surface",
            "interlock-policies",
            "interlock-gateway",
            "interlock-guard",
            "interlock-drones",
            "interlock-mowers",
        ],
    ),
    ("xtask", &[]),
];

/// Packages that must not be reached from those on the left, over any number
/// of steps: the surface and the decision do no I/O.
const PURE: &[&str] = &["interlock-surface", "interlock-policies"];

/// What does I/O, or runs tasks.
const IMPURE: &[&str] = &[
    "tokio",
    "async-std",
    "smol",
    "mio",
    "axum",
    "hyper",
    "reqwest",
    "redis",
    "sqlx",
    "sqlx-core",
];

/// Who depends on whom.
#[derive(Default)]
struct Graph {
    /// Direct dependencies of the workspace's packages, of every kind.
    declared: BTreeMap<String, BTreeSet<String>>,
    /// What is linked into each package of the graph: normal dependencies.
    linked: BTreeMap<String, BTreeSet<String>>,
}

impl Graph {
    /// A graph of edges that are all normal dependencies.
    fn of(edges: &[(&str, &str)]) -> Graph {
        let mut graph = Graph::default();
        for (from, to) in edges {
            for edges in [&mut graph.declared, &mut graph.linked] {
                let from = edges.entry((*from).to_owned()).or_default();
                from.insert((*to).to_owned());
            }
        }
        graph
    }

    fn of_this_workspace() -> Graph {
        let metadata = MetadataCommand::new()
            .current_dir(repository::root())
            .other_options(["--locked".to_owned()])
            .exec()
            .expect("cargo metadata runs");
        let mut graph = Graph::default();
        for package in metadata.workspace_packages() {
            let names = package.dependencies.iter().map(|it| it.name.clone());
            graph
                .declared
                .insert(package.name.to_string(), names.collect());
        }
        let name = |id| metadata[id].name.to_string();
        for node in metadata
            .resolve
            .as_ref()
            .expect("metadata is resolved")
            .nodes
            .iter()
        {
            let normal = node.deps.iter().filter(|it| {
                it.dep_kinds
                    .iter()
                    .any(|kind| kind.kind == cargo_metadata::DependencyKind::Normal)
            });
            let entry = graph.linked.entry(name(&node.id)).or_default();
            entry.extend(normal.map(|it| name(&it.pkg)));
        }
        graph
    }

    /// Every rule that is broken, in words.
    fn violations(&self) -> Vec<String> {
        let members: BTreeSet<&str> = ALLOWED.iter().map(|(name, _)| *name).collect();
        let mut violations = Vec::new();
        for (from, to) in &self.declared {
            let Some((_, allowed)) = ALLOWED.iter().find(|(name, _)| name == from) else {
                violations.push(format!("{from} has no rule; say what it may depend on"));
                continue;
            };
            for to in to
                .iter()
                .filter(|to| members.contains(to.as_str()) || ours(to))
            {
                if !allowed.contains(&to.as_str()) {
                    violations.push(format!("{from} must not depend on {to}"));
                }
            }
        }
        for pure in PURE {
            for reached in self.reached(pure) {
                if IMPURE.contains(&reached.as_str()) {
                    violations.push(format!("{pure} must not reach {reached}"));
                }
            }
        }
        violations
    }

    /// Everything that is linked with a package.
    fn reached(&self, package: &str) -> BTreeSet<String> {
        let mut reached = BTreeSet::new();
        let mut open = vec![package.to_owned()];
        while let Some(next) = open.pop() {
            for to in self.linked.get(&next).into_iter().flatten() {
                if reached.insert(to.clone()) {
                    open.push(to.clone());
                }
            }
        }
        reached
    }
}

fn ours(name: &str) -> bool {
    name.starts_with("interlock-") || name == "xtask"
}

#[test]
fn dependencies_point_one_way() {
    let graph = Graph::of_this_workspace();
    assert_eq!(graph.violations(), Vec::<String>::new());
    // A rule for a package that is gone would hide a rename.
    let ruled: BTreeSet<String> = ALLOWED.iter().map(|(name, _)| (*name).to_owned()).collect();
    let members: BTreeSet<String> = graph.declared.keys().cloned().collect();
    assert_eq!(ruled, members);
    // The walk sees what it must: the gateway does reach the network.
    assert!(graph.reached("interlock-gateway").contains("tokio"));
}

#[test]
fn every_forbidden_edge_is_found() {
    let check = |edges: &[(&str, &str)], expected: &[&str]| {
        assert_eq!(Graph::of(edges).violations(), expected, "{edges:?}");
    };
    check(&[("interlock-gateway", "interlock-policies")], &[]);
    check(
        &[("interlock-gateway", "interlock-drones")],
        &["interlock-gateway must not depend on interlock-drones"],
    );
    check(
        &[("interlock-drones", "interlock-gateway")],
        &["interlock-drones must not depend on interlock-gateway"],
    );
    check(
        &[("interlock-drones", "interlock-policies")],
        &["interlock-drones must not depend on interlock-policies"],
    );
    check(
        &[("interlock-surface", "interlock-new")],
        &["interlock-surface must not depend on interlock-new"],
    );
    check(
        &[("interlock-new", "serde")],
        &["interlock-new has no rule; say what it may depend on"],
    );
    check(
        &[("interlock-policies", "tokio")],
        &["interlock-policies must not reach tokio"],
    );
}

#[test]
fn a_forbidden_package_is_found_behind_others() {
    let mut graph = Graph::default();
    let steps = [
        ("interlock-policies", "helper"),
        ("helper", "deeper"),
        ("deeper", "hyper"),
    ];
    for (from, to) in steps {
        graph
            .linked
            .insert(from.to_owned(), BTreeSet::from([to.to_owned()]));
    }
    assert_eq!(
        graph.violations(),
        ["interlock-policies must not reach hyper"]
    );
}
