/** Facts about JSON text, found without parsing. `JSON.parse` can't be interrupted, and rounds long numbers. */
export interface JsonSurvey {
  /** Nesting depth of lists and objects. */
  readonly levels: number
  /** Approximate number of values, including lists and objects. */
  readonly values: number
  /** Places of integers that a double would round. */
  readonly longNumbers: readonly Place[]
}

interface Place {
  readonly start: number
  readonly end: number
}

const NUMBER = /[-+\d.eE]+/y
const WHOLE = /^-?[1-9]\d{15,}$/

/**
 * Scans JSON text in one pass, without recursion and without building values.
 * @param json valid JSON. For other text, the result is meaningless.
 */
export function surveyJson(json: string): JsonSurvey {
  const longNumbers: Place[] = []
  let [depth, levels, values] = [0, 0, 1]
  for (let at = 0; at < json.length; at++) {
    const character = json[at] ?? ''
    if (character === '"') at = endOfText(json, at)
    else if (character === ',') values += 1
    else if (character === '[' || character === '{') {
      values += 1
      depth += 1
      if (depth > levels) levels = depth
    } else if (character === ']' || character === '}') depth -= 1
    else if (character === '-' || (character >= '0' && character <= '9')) {
      NUMBER.lastIndex = at
      const number = NUMBER.exec(json)?.[0] ?? character
      if (WHOLE.test(number) && !Number.isSafeInteger(Number(number))) longNumbers.push({ start: at, end: at + number.length })
      at += number.length - 1
    }
  }
  return { levels, values, longNumbers }
}

function endOfText(json: string, start: number): number {
  for (let at = start + 1; at < json.length; at++) {
    if (json[at] === '\\') at += 1
    else if (json[at] === '"') return at
  }
  return json.length
}

/** @returns the JSON text with quotation marks around the numbers at `places`. */
export function withNumbersAsText(json: string, places: readonly Place[]): string {
  let from = 0
  const parts = places.map(({ start, end }) => {
    const part = `${json.slice(from, start)}"${json.slice(start, end)}"`
    from = end
    return part
  })
  return parts.join('') + json.slice(from)
}
