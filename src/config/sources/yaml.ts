import { LineCounter, parseDocument, type Scalar, visit } from 'yaml'
import type { Tree } from '../schema/reading.ts'

/** Maximum number of errors to report. One mistake causes many errors in the lines after it. */
const MAX_ERRORS = 5

/**
 * Parses YAML. Problems contain only a code and a position. The library's own messages quote the line, which may
 * contain a secret.
 * Numbers and booleans stay text until the schema parses them. As numbers, 00123 and 3.0 would change, and long ids
 * would be rounded.
 * @param name name of the text in problems.
 */
export function parseYaml(text: string, name: string): { readonly tree: Tree } | { readonly problems: string[] } {
  const lineCounter = new LineCounter()
  const document = parseDocument(text, { lineCounter, prettyErrors: false, stringKeys: true, logLevel: 'error' })
  const errors = [...document.errors, ...document.warnings].slice(0, MAX_ERRORS)
  if (errors.length > 0) {
    return {
      problems: errors.map(({ code, pos }) => {
        const { line, col } = lineCounter.linePos(pos[0])
        return `${name} is not valid YAML at line ${line}, column ${col} (${code.toLowerCase().replaceAll('_', ' ')}); correct it there`
      }),
    }
  }
  visit(document, { Scalar: (_, scalar) => keepSourceText(scalar) })
  try {
    const value: unknown = document.toJS()
    if (value === null || value === undefined) return { tree: {} }
    if (typeof value === 'object' && !Array.isArray(value)) return { tree: value as Tree }
    return { problems: [`${name} must hold keys and values, such as \`accounts:\``] }
  } catch {
    return { problems: [`${name} uses a YAML alias that has no anchor, or far too many; write the values out`] }
  }
}

function keepSourceText(scalar: Scalar): void {
  if (typeof scalar.value === 'number' || typeof scalar.value === 'boolean') scalar.value = scalar.source ?? scalar.value
}
