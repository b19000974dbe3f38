use super::*;

fn read(line: &[&str]) -> Result<Settings, Failure> {
    let words: Vec<String> = line.iter().map(|&word| word.to_owned()).collect();
    Settings::read(&COMMAND.parse(&[words, vec!["--data=/d".into()]].concat())?)
}

#[test]
fn without_flags_it_is_private() {
    let settings = read(&[]).unwrap();
    assert_eq!(settings.listen.to_string(), "127.0.0.1:8180");
    assert_eq!(
        settings.tunnel_listen.unwrap().to_string(),
        "127.0.0.1:62888"
    );
    assert_eq!(
        (settings.domain.as_str(), settings.external_ip.as_str()),
        ("localhost", "127.0.0.1")
    );
    assert!(settings.is_private() && !settings.is_exposed_without_tls());
}

#[test]
fn without_the_port_connectors_are_told_the_domain() {
    let none = "--tunnel-listen=none";
    let settings = read(&[none]).unwrap();
    assert!(settings.tunnel_listen.is_none() && settings.is_private());
    assert_eq!(settings.external_ip, "localhost");
    let public = [
        "--domain=relay.example",
        "--public-url=https://relay.example",
    ];
    let of = |more: &str| read(&[&public[..], &[none, more]].concat());
    let settings = of("--listen=0.0.0.0:80").unwrap();
    assert_eq!(settings.external_ip, "relay.example");
    assert_eq!(settings.ports, PublicPorts::Refused);
    let settings = of("--external-ip=192.0.2.1").unwrap();
    assert_eq!(settings.external_ip, "192.0.2.1");
    assert_eq!(settings.ports, PublicPorts::Refused, "a proxy is in front");
}

#[test]
fn what_others_reach_is_not_private() {
    for line in [
        &["--listen=192.0.2.1:80", "--domain=relay.example"][..],
        &["--tunnel-listen=192.0.2.1:80"],
        &["--tunnel-listen=0.0.0.0:0", "--external-ip=192.0.2.1"],
        &["--public-url=https://localhost"],
        &["--trust-proxy=127.0.0.1"],
        &["--domain=relay.example"],
    ] {
        assert!(!read(line).unwrap().is_private(), "{line:?}");
    }
    assert!(
        read(&["--listen=[::1]:1", "--domain=x.localhost"])
            .unwrap()
            .is_private()
    );
}

#[test]
fn public_ports_of_a_relay_that_others_reach_are_shared_only_when_that_is_said() {
    let out = [
        "--listen=192.0.2.1:80",
        "--tunnel-listen=192.0.2.1:81",
        "--domain=relay.example",
    ];
    let tunnel = ["--tunnel-listen=0.0.0.0:81", "--external-ip=192.0.2.1"];
    let ports = |line: &[&[&str]]| read(&line.concat()).map(|settings| settings.ports).ok();
    let at = PublicPorts::At("192.0.2.2".parse().unwrap());
    for (line, expected) in [
        (&[&[][..]][..], Some(PublicPorts::Shared)),
        (&[&["--listen=[::1]:80"]], Some(PublicPorts::Shared)),
        (&[&out], Some(PublicPorts::Refused)),
        (&[&tunnel], Some(PublicPorts::Refused)),
        (
            &[&tunnel, &["--shared-host-ports"]],
            Some(PublicPorts::Shared),
        ),
        (&[&tunnel, &["--port-listen=192.0.2.2"]], Some(at)),
        (&[&out, &["--port-listen=192.0.2.1"]], None),
        (&[&["--port-listen=192.0.2.2", "--shared-host-ports"]], None),
        (&[&["--port-listen=0.0.0.0"]], None),
        (&[&["--port-listen=ports.example"]], None),
    ] {
        assert_eq!(ports(line), expected, "{line:?}");
    }
}

#[test]
fn a_port_alone_for_the_figures_is_one_of_loopback() {
    let at = |text| {
        let settings =
            read(&["--metrics-listen", text]).map_err(|failure| failure.parts().1.to_owned());
        settings.map(|settings| settings.metrics_listen.unwrap().to_string())
    };
    for (text, expected) in [
        ("19182", "127.0.0.1:19182"),
        ("localhost:1", "127.0.0.1:1"),
        ("[::1]:2", "[::1]:2"),
    ] {
        assert_eq!(at(text).as_deref(), Ok(expected));
    }
    assert!(at("65536").unwrap_err().contains("127.0.0.1:8182"));
    assert!(at("8180").is_err(), "the sites' port");
}

#[test]
fn wrong_values_are_named_and_a_token_is_not_repeated() {
    for line in [
        &["--listen", "8180"][..],
        &["--listen", "relay.example:80"],
        &["--listen", "127.0.0.1:65536"],
        &["--tunnel-listen", ""],
        &["--listen", "127.0.0.1:62888"],
        &["--listen", "0.0.0.0:80"],
        &["--tunnel-listen", "[::]:80"],
        &["--domain", "a b"],
        &["--domain", "1.2.3.4"],
        &["--public-url", "relay.example"],
        &["--external-ip", "0.0.0.0"],
        &["--external-ip", "a/b"],
        &["--trust-proxy", "10.0.0.0/33"],
        &["--enroll-token", "short"],
        &["--connections", "15"],
        &["--connections", "+64"],
        &["--ports", "20000"],
        &["--ports", "20001-20000"],
        &["--ports", "80-90"],
        &["--ports", "20000-65536"],
        &["--answer-timeout", "0"],
        &["--answer-timeout", "1500ms"],
        &["--quota-sites", "0"],
        &["--quota-sites", "101"],
        &["--quota-mbps", "0.5"],
        &["--data", ""],
        &["--trust-proxy", ""],
    ] {
        let failure = read(line).err().expect(line[0]);
        let (status, message, _) = failure.parts();
        assert_eq!(status, 2, "{line:?}");
        assert!(!message.contains("short"), "{message}");
    }
    let reached = ["--listen", "0.0.0.0:80", "--external-ip", "relay.example"];
    assert!(read(&reached).is_err(), "sites would be at localhost");
    let domain = ["--domain", "relay.example"];
    assert!(read(&[&reached[..], &domain].concat()).is_ok());
}
