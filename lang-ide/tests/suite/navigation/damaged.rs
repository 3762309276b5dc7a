//! Robustness test on texts that are cut, duplicated and mixed at random: every request answers,
//! with results inside the text.

use lang_ide::calls::{incoming, outgoing, prepare_calls};
use lang_ide::completion::complete;
use lang_ide::definition::{declaration, definition, implementation, type_definition};
use lang_ide::folding::folds;
use lang_ide::format::{format_module, format_range};
use lang_ide::highlight::highlights;
use lang_ide::references::references;
use lang_ide::rename::{prepare_rename, rename};
use lang_ide::selection::selection;
use lang_ide::signature::signature_help;
use lang_ide::symbols::{document_symbols, workspace_symbols};
use lang_ide::tokens::{tokens, tokens_in};
use lang_ide::{Session, Span};

use crate::navigation::support::{MAIN, corpus};

/// A generator of pseudo-random numbers, the same in every run.
struct RandomNumbers(u64);

impl RandomNumbers {
    fn number_below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from((self.0 >> 33) % u64::try_from(n.max(1)).unwrap()).unwrap()
    }
}

fn ask_everything(session: &Session, text: &str, at: u32, drawn: &mut RandomNumbers) {
    let length = u32::try_from(text.len()).unwrap();
    let inside = |span: Span| assert!(span.start <= span.end && span.end <= length, "{span:?} of {length}");
    for place in [
        definition(session, MAIN, at),
        declaration(session, MAIN, at),
        implementation(session, MAIN, at),
        type_definition(session, MAIN, at),
    ]
    .concat()
    {
        let text = session.text(&place.module).expect("a module");
        assert!(text.get(place.span.range()).is_some());
    }
    references(session, MAIN, at, true).iter().filter(|l| l.module == MAIN).for_each(|l| inside(l.span));
    highlights(session, MAIN, at).iter().for_each(|h| inside(h.span));
    let found = complete(session, MAIN, at);
    inside(found.replaced_span);
    assert!(found.items.len() <= 1000 && text.get(found.replaced_span.range()).is_some());
    for help in signature_help(session, MAIN, at) {
        assert!(help.parameters.iter().all(|p| help.label.get(p.range()).is_some()));
    }
    selection(session, MAIN, at).iter().for_each(|s| inside(*s));
    if prepare_rename(session, MAIN, at).is_ok() && drawn.number_below(8) == 0 {
        for edit in rename(session, MAIN, at, "freshly").unwrap_or_default() {
            inside(edit.at.span);
        }
    }
    if let Some(item) = prepare_calls(session, MAIN, at) {
        let _ = (incoming(session, &item), outgoing(session, &item));
    }
    let to = (at + 200).min(length);
    tokens_in(session, MAIN, Span::new(at, to)).iter().for_each(|t| inside(t.span));
    format_range(session, MAIN, Span::new(at, to)).iter().for_each(|e| inside(e.at.span));
}

#[test]
fn every_request_answers() {
    let (whole, modules) = corpus();
    let mut drawn = RandomNumbers(8);
    let mut session = Session::new();
    for module in modules.iter().step_by(3) {
        let text = whole.text(module).expect("a module");
        for _ in 0..3 {
            let place = |drawn: &mut RandomNumbers| text.floor_char_boundary(drawn.number_below(text.len() + 1));
            let (a, b, c) = (place(&mut drawn), place(&mut drawn), place(&mut drawn));
            let (a, b) = (a.min(b), a.max(b).min(a + 4000));
            let b = text.floor_char_boundary(b);
            let hurt = match drawn.number_below(4) {
                0 => text[a..b].to_owned(),
                1 => format!("{}{}", &text[a..b], &text[c..text.floor_char_boundary((c + 500).min(text.len()))]),
                2 => text[a..b].replace(['(', ')'], ""),
                _ => text[a..b].chars().filter(|_| drawn.number_below(12) > 0).collect(),
            };
            session.set_text(MAIN, &hurt);
            for _ in 0..4 {
                let at = hurt.floor_char_boundary(drawn.number_below(hurt.len() + 1));
                ask_everything(&session, &hurt, u32::try_from(at).unwrap(), &mut drawn);
            }
            let all = tokens(&session, MAIN);
            assert!(all.windows(2).all(|w| w[0].span.end <= w[1].span.start), "{hurt}");
            let _ = (document_symbols(&session, MAIN), folds(&session, MAIN), format_module(&session, MAIN));
            assert!(workspace_symbols(&session, "so").len() <= 256);
            // Also beyond the end of the text.
            ask_everything(&session, &hurt, u32::try_from(hurt.len()).unwrap(), &mut drawn);
            let _ = (
                complete(&session, MAIN, u32::MAX),
                selection(&session, MAIN, u32::MAX),
                definition(&session, "none", 3),
            );
        }
    }
}
