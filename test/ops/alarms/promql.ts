/** Series and labels of a PromQL expression, as far as the project's rules and dashboards use the grammar. */
export interface Expression {
  readonly series: readonly { readonly name: string; readonly labels: readonly string[] }[]
  readonly groupedBy: readonly string[]
}

const FUNCTIONS = new Set(['sum', 'max', 'min', 'absent', 'rate', 'increase', 'histogram_quantile', 'vector', 'label_values'])
const WORDS = new Set(['by', 'or', 'and', 'unless', 'bool'])

/** @throws Error for unknown syntax, such as unmatched brackets. */
export function readExpression(text: string): Expression {
  const series: { name: string; labels: string[] }[] = []
  const groupedBy: string[] = []
  const open: string[] = []
  let rest = text
  const take = (pattern: RegExp): RegExpExecArray | null => {
    const match = pattern.exec(rest)
    if (match) rest = rest.slice(match[0].length)
    return match
  }
  while (rest !== '') {
    if (
      take(/^\s+/) ||
      take(/^\[(?:\d+[smhd]|\$__rate_interval)\]/) ||
      take(/^offset \d+[smhd]/) ||
      take(/^[\d.]+/) ||
      take(/^(?:==|!=|>=|<=|[><+\-*/,])/)
    )
      continue
    if (take(/^\(/)) open.push('(')
    else if (take(/^\)/)) {
      if (open.pop() === undefined) throw new Error(`a bracket too many: ${text}`)
    } else {
      const grouping = take(/^by \(([\w, ]+)\)/)
      const name = grouping ? null : take(/^[a-zA-Z_]\w*/)
      if (grouping) groupedBy.push(...(grouping[1] ?? '').split(/,\s*/))
      else if (name === null) throw new Error(`not understood: ${rest} in ${text}`)
      else if (!WORDS.has(name[0]) && !(rest.startsWith('(') || rest.startsWith(' by (')) && !FUNCTIONS.has(name[0])) {
        const labels = [...(take(/^\{([^}]*)\}/)?.[1] ?? '').matchAll(/(\w+)\s*=~?\s*"[^"]*"/g)].map((match) => match[1] ?? '')
        series.push({ name: name[0].replace(/_(?:bucket|sum|count)$/, ''), labels })
      } else if (!WORDS.has(name[0]) && !FUNCTIONS.has(name[0])) throw new Error(`no function of PromQL that we use: ${name[0]}`)
    }
  }
  if (open.length > 0) throw new Error(`a bracket is not closed: ${text}`)
  return { series, groupedBy }
}
