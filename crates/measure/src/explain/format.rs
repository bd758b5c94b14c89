//! Where an event keeps its fields: the `format` files of tracefs.

/// One field of an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    name: String,
    offset: usize,
    size: usize,
    signed: bool,
    /// The field holds offset and length of the text, not the text.
    located: bool,
}

/// An event's number and fields.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Format {
    /// The number that its records begin with.
    pub id: u16,
    fields: Vec<Field>,
}

impl Format {
    /// Reads a `format` file; `None` if it is none.
    pub fn parse(text: &str) -> Option<Self> {
        let id = text.lines().find_map(|line| line.strip_prefix("ID:"))?.trim().parse().ok()?;
        Some(Self { id, fields: text.lines().filter_map(field).collect() })
    }

    /// A number field of a record, or 0 where this kernel has no such field.
    pub fn number(&self, record: &[u8], name: &str) -> i64 {
        self.field(name).and_then(|field| field.number(record)).unwrap_or(0)
    }

    /// Whether the event has this field.
    pub fn has(&self, name: &str) -> bool {
        self.field(name).is_some()
    }

    /// A text field of a record, up to its first zero.
    pub fn text<'r>(&self, record: &'r [u8], name: &str) -> &'r [u8] {
        self.field(name).and_then(|field| field.text(record)).unwrap_or_default()
    }

    /// Where a field begins.
    pub fn offset(&self, name: &str) -> Option<usize> {
        Some(self.field(name)?.offset)
    }

    fn field(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find(|field| field.name == name)
    }
}

/// `field:char prev_comm[16]; offset:8; size:16; signed:0;`
fn field(line: &str) -> Option<Field> {
    let mut parts = line.trim().strip_prefix("field:")?.split(';');
    let declaration = parts.next()?.trim();
    let mut numbers = [None; 3];
    for part in parts {
        let Some((key, value)) = part.trim().split_once(':') else { continue };
        let slot = ["offset", "size", "signed"].iter().position(|name| *name == key);
        if let Some(slot) = slot {
            numbers[slot] = value.trim().parse::<usize>().ok();
        }
    }
    let name = declaration.split('[').next()?.split_whitespace().last()?;
    let located = declaration.starts_with("__data_loc");
    // `__data_loc char[] name` has its brackets before the name.
    let name = if located { declaration.split_whitespace().last()? } else { name };
    let name = name.trim_start_matches('*').to_string();
    Some(Field { name, offset: numbers[0]?, size: numbers[1]?, signed: numbers[2] == Some(1), located })
}

impl Field {
    fn bytes<'r>(&self, record: &'r [u8]) -> Option<&'r [u8]> {
        record.get(self.offset..self.offset.checked_add(self.size)?)
    }

    fn number(&self, record: &[u8]) -> Option<i64> {
        let bytes = self.bytes(record)?;
        Some(match (bytes.len(), self.signed) {
            (1, false) => bytes[0].into(),
            (1, true) => (bytes[0] as i8).into(),
            (2, false) => u16::from_ne_bytes(bytes.try_into().ok()?).into(),
            (2, true) => i16::from_ne_bytes(bytes.try_into().ok()?).into(),
            (4, false) => u32::from_ne_bytes(bytes.try_into().ok()?).into(),
            (4, true) => i32::from_ne_bytes(bytes.try_into().ok()?).into(),
            (8, _) => i64::from_ne_bytes(bytes.try_into().ok()?),
            _ => return None,
        })
    }

    fn text<'r>(&self, record: &'r [u8]) -> Option<&'r [u8]> {
        let bytes = if self.located {
            let place = self.number(record)? as u32;
            let (offset, length) = ((place & 0xffff) as usize, (place >> 16) as usize);
            record.get(offset..offset + length)?
        } else {
            self.bytes(record)?
        };
        Some(bytes.split(|byte| *byte == 0).next().unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const IRQ: &str = "name: irq_handler_entry
ID: 225
format:
	field:unsigned short common_type;	offset:0;	size:2;	signed:0;
	field:int common_pid;	offset:4;	size:4;	signed:1;

	field:int irq;	offset:8;	size:4;	signed:1;
	field:__data_loc char[] name;	offset:12;	size:4;	signed:0;

print fmt: \"irq=%d name=%s\", REC->irq, __get_str(name)
";

    #[test]
    fn fields_are_found_by_name() {
        let format = Format::parse(IRQ).unwrap();
        let mut record = vec![225, 0, 0, 0, 7, 0, 0, 0, 36, 0, 0, 0, 16, 0, 5, 0];
        record.extend(b"mmc0\0");
        assert_eq!((format.id, format.number(&record, "common_pid"), format.number(&record, "irq")), (225, 7, 36));
        assert_eq!(format.text(&record, "name"), b"mmc0");
        assert_eq!((format.number(&record, "none"), format.text(&record[..14], "name")), (0, &b""[..]));
    }

    #[test]
    fn numbers_are_of_their_size_and_sign() {
        let number = |bytes: &[u8], signed| {
            Field { name: String::new(), offset: 0, size: bytes.len(), signed, located: false }.number(bytes)
        };
        let both = |bytes: &[u8]| [number(bytes, false), number(bytes, true)].map(Option::unwrap);
        assert_eq!(both(&(-2i8).to_ne_bytes()), [254, -2]);
        assert_eq!(both(&(-2i16).to_ne_bytes()), [65_534, -2]);
        assert_eq!(both(&(-2i32).to_ne_bytes()), [4_294_967_294, -2]);
        assert_eq!(both(&(-2i64).to_ne_bytes()), [-2, -2]);
        assert_eq!(number(&[0; 3], false), None, "no number has three bytes");
    }

    #[test]
    fn a_number_is_signed_where_the_kernel_says_so() {
        let format = Format::parse(IRQ).unwrap();
        let numbers = ["common_type", "common_pid", "irq"].map(|name| format.number(&[0xff; 16], name));
        assert_eq!(numbers, [65_535, -1, -1]);
    }

    #[test]
    fn arrays_and_pointers_lose_their_marks() {
        let line = |declaration: &str| field(&format!("\tfield:{declaration};\toffset:8;\tsize:16;\tsigned:0;"));
        assert_eq!(line("char prev_comm[16]").unwrap().name, "prev_comm");
        assert_eq!(line("void * hrtimer").unwrap().name, "hrtimer");
        assert_eq!(line("void *function").unwrap().name, "function");
    }

    proptest! {
        #[test]
        fn any_text_and_any_record_are_answered(text in "(ID: ?[0-9]{0,6}\n|field:[a-z_ \\[\\]*]{0,20};|offset:[0-9]{0,20};|size:[0-9]{0,3};|[ -~\n]{0,9}){0,30}",
                                               record in proptest::collection::vec(any::<u8>(), 0..64)) {
            let format = Format::parse(&text).unwrap_or_default();
            for field in &format.fields {
                let _ = (field.number(&record), field.text(&record));
            }
        }
    }
}
