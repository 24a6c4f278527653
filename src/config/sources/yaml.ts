import { LineCounter, parseDocument, type Scalar, visit } from 'yaml'
import type { Tree } from './reading.ts'

/** One slip makes many faults in the lines behind it. */
const MAX_FAULTS = 5

/**
 * Reads a YAML text that holds keys and values. The library's own messages show the line they speak of, and a secret may stand in it:
 * only code and place are told. Numbers and booleans stay as they are written, for what they mean is up to their setting: an id such as
 * 00123 and a version such as 3.0 would be others as numbers, and an id of twenty digits would be rounded.
 * @param name what the text is called in a problem.
 */
export function parseYaml(text: string, name: string): { readonly tree: Tree } | { readonly problems: string[] } {
  const lineCounter = new LineCounter()
  const document = parseDocument(text, { lineCounter, prettyErrors: false, stringKeys: true, logLevel: 'error' })
  const faults = [...document.errors, ...document.warnings].slice(0, MAX_FAULTS)
  if (faults.length > 0) {
    return {
      problems: faults.map(({ code, pos }) => {
        const { line, col } = lineCounter.linePos(pos[0])
        return `${name} is not valid YAML at line ${line}, column ${col} (${code.toLowerCase().replaceAll('_', ' ')}); mend it there`
      }),
    }
  }
  visit(document, { Scalar: (_, scalar) => keepAsWritten(scalar) })
  try {
    const value: unknown = document.toJS()
    if (value === null || value === undefined) return { tree: {} }
    if (typeof value === 'object' && !Array.isArray(value)) return { tree: value as Tree }
    return { problems: [`${name} must hold keys and values, such as \`accounts:\``] }
  } catch {
    return { problems: [`${name} uses a YAML alias that has no anchor, or far too many; write the values out`] }
  }
}

function keepAsWritten(scalar: Scalar): void {
  if (typeof scalar.value === 'number' || typeof scalar.value === 'boolean') scalar.value = scalar.source ?? scalar.value
}
