/** Characters that show nothing, or reorder what is shown: a place to hide instructions. */
const INVISIBLE =
  /[\u{AD}\u{61C}\u{115F}\u{1160}\u{180E}\u{200B}\u{200E}\u{200F}\u{202A}-\u{202E}\u{2060}-\u{206F}\u{3164}\u{FE00}-\u{FE0E}\u{FEFF}\u{FFA0}\u{FFF9}-\u{FFFB}\u{E0000}-\u{E0FFF}]/gu;
const CONTROL = /[\u{0000}-\u{0008}\u{000B}-\u{001F}\u{007F}-\u{009F}]/gu;

/** A text without control characters and without invisible ones. */
export function visible(text: string): string {
  return text.replace(INVISIBLE, "").replace(CONTROL, "");
}
