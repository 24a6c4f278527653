/** HTML in which all values are already escaped. */
export class Markup {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

type Piece = string | number | Markup | readonly Markup[]

/** Builds HTML from a template. Escapes every value that isn't Markup. */
export function html(strings: TemplateStringsArray, ...pieces: readonly Piece[]): Markup {
  const filled = pieces.map((piece) => {
    if (piece instanceof Markup) return piece.text
    return typeof piece === 'object' ? piece.map(({ text }) => text).join('') : escapeHtml(String(piece))
  })
  return new Markup(strings.map((text, index) => text + (filled[index] ?? '')).join(''))
}

const entities: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;', '`': '&#96;' }

function escapeHtml(text: string): string {
  return text.replace(/[&<>"'`]/g, (character) => entities[character] ?? '')
}
