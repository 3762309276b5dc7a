//! Help that is added to a diagnostic from facts the checker does not have: computed lengths, and
//! the contents of data files.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use lang_core::base::Code;
use lang_core::resolve::forms::LoadOption;
use lang_core::runtime::Value;
use lang_core::syntax::lexer::{Token, is_name_continue, lex};
use lang_core::syntax::token::{Sym, Word};

use super::Engine;
use crate::data::{self, DataFormat, ProposedType};
use crate::host::table_options;
use crate::literal::UntypedContent;
use crate::problem::Problem;
use crate::{suggest, types};

/// The largest file, in bytes, that is read to infer its type.
const MOST_READ: u64 = 16 << 20;

/// Parses the options of a `load`, if all are string or boolean literals; otherwise returns `None`.
fn literal_options(text: &str) -> Option<Vec<(LoadOption, Value)>> {
    let tokens: Vec<Token> = lex(text).tokens.into_iter().map(|t| t.token).collect();
    let option = |tokens: &[Token]| {
        let [Token::Sym(Sym::Comma), Token::Name(name), Token::Sym(Sym::Colon), value] = tokens else { return None };
        let value = match value {
            Token::Str(text) => Value::Str(text.clone()),
            Token::Keyword(Word::True) => Value::Bool(true),
            Token::Keyword(Word::False) => Value::Bool(false),
            _ => return None,
        };
        Some((LoadOption::by_name(name)?, value))
    };
    tokens.chunks(4).map(option).collect()
}

/// Returns the help for a missing file, with the data file of the closest name.
fn missing_file_help(path: &Path, file: &str) -> String {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or_else(|| Path::new("."));
    let there = fs::read_dir(folder).into_iter().flatten().take(1_000).filter_map(Result::ok);
    let names: Vec<String> = there.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    let wanted = path.file_name().and_then(|name| name.to_str()).unwrap_or(file);
    let near = suggest::closest(
        wanted,
        names.iter().map(String::as_str).filter(|name| DataFormat::from_path(Path::new(name)).is_some()),
    );
    let near = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
    format!("there is no file `{file}`{near}")
}

impl Engine {
    /// Returns the problem with help from the known lengths, or from the data file that it is
    /// about.
    pub(super) fn with_advice(&self, mut problem: Problem) -> Problem {
        if problem.code == Code::E0210
            && let Some(advice) = self.proposed_declaration(&problem)
        {
            problem.help = Some(advice);
        }
        // Errors with other codes mention sizes only in passing.
        if problem.code.name().starts_with("E03") { self.with_lengths(problem) } else { problem }
    }

    /// Adds the known values of the lengths in the sizes that the problem prints.
    fn with_lengths(&self, mut problem: Problem) -> Problem {
        let lengths = self.values.iter().filter(|(name, _)| types::is_length(name));
        let mut named: Vec<(usize, String)> = lengths
            .filter_map(|(name, value)| {
                let position = problem.size_names.iter().position(|size| *size == name.name)?;
                Some((position, format!("`{name}` is {}", value.as_i64()?)))
            })
            .collect();
        named.sort();
        if !named.is_empty() {
            let named: Vec<String> = named.into_iter().map(|(_, text)| text).collect();
            let help = problem.help.take().map(|help| help + "\n").unwrap_or_default();
            problem.help = Some(format!("{help}here {}", named.join(" and ")));
        }
        problem
    }

    /// Returns a `let` for the `load` at the problem's place, with the type of the file's contents.
    fn proposed_declaration(&self, problem: &Problem) -> Option<String> {
        let place = problem.places.first()?;
        let source = self.sources.get(place.source)?;
        let range = source.range(place.span);
        let load = source.text.get(range.clone())?;
        let (file, options) = load.strip_prefix("load(\"")?.strip_suffix(')')?.split_once('"')?;
        if file.contains('\\') {
            return None;
        }
        let options = table_options(&literal_options(options)?).ok()?;
        let path = self.folder_of(place.source).map_or_else(|| PathBuf::from(file), |folder| folder.join(file));
        let format = DataFormat::from_path(&path)?;
        match fs::metadata(&path) {
            Err(why) if why.kind() == ErrorKind::NotFound => return Some(missing_file_help(&path, file)),
            Ok(known) if known.is_file() && known.len() <= MOST_READ => {}
            _ => return None,
        }
        let declared = match format.load(&path, &options, None).ok()? {
            Ok(UntypedContent::File(held)) => data::propose_type(&held),
            Ok(UntypedContent::Literal(literal)) => data::propose_json_type(&literal),
            Err(why) => return Some(format!("`{file}` cannot be read: {}", why.message)),
        };
        let before = source.text.get(..range.start)?.trim_end();
        let name = before.strip_suffix('=').map(str::trim_end).unwrap_or_default();
        let name = name.rsplit(|c: char| !is_name_continue(c)).next().filter(|name| !name.is_empty()).unwrap_or("x");
        let ProposedType { ty, remark } = declared?;
        let remark = remark.map(|remark| format!("\n{remark}")).unwrap_or_default();
        Some(format!("declare the type of the file's contents: `let {name}: {ty} = {load}`{remark}"))
    }
}
