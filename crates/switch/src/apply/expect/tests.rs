use std::cell::RefCell;

use super::super::double::Double;
use super::*;

/// A machine with one port, which writes down what it is asked.
#[derive(Default)]
struct Asked(RefCell<Vec<String>>);

impl Double for Asked {
    fn query(&self, argv: &[&str]) -> Result<String, Refused> {
        self.0.borrow_mut().push(argv.join(" "));
        Ok(match argv {
            ["ip", "-d", "-j", "link", "show"] => r#"[{"ifindex":3,"ifname":"pa","flags":["UP"],"mtu":1500}]"#.into(),
            _ => String::new(),
        })
    }
}

fn children(port: &str, kind: Option<&str>) -> Expect {
    Expect::Children { port: port.into(), children: kind.map(|kind| (":1".into(), kind.into())).into_iter().collect() }
}

#[test]
fn interfaces_are_listed_once_and_only_where_they_decide() {
    let asked = |expects: &[Expect]| {
        let host = Asked::default();
        let found = differences(&host, expects);
        let listed = host.0.borrow().iter().filter(|asked| asked.starts_with("ip ")).count();
        (found.iter().map(|found| (found.to_string(), found.gone)).collect::<Vec<_>>(), listed)
    };
    assert_eq!(asked(&[children("pa", None), children("pb", None)]), (Vec::new(), 0));
    let up = |port: &str| Expect::Up { port: port.into() };
    assert_eq!(asked(&[up("pa"), children("pa", None), up("pa")]), (Vec::new(), 1));
    let (found, listed) = asked(&[children("pa", Some("cbs")), children("pb", Some("cbs")), up("pb")]);
    let missing = ("pa has no cbs at :1".to_owned(), false);
    let gone = ("pb is gone".to_owned(), true);
    assert_eq!((found, listed), (vec![missing, gone.clone(), gone], 1));
}
