/** A known finding that does not affect the product. */
export interface Accepted {
  readonly advisory: string
  readonly reason: string
}

interface Advisory {
  readonly title: string
  readonly url: string
  readonly severity: string
  readonly name: string
  readonly range: string
}

interface Report {
  readonly vulnerabilities?: Readonly<Record<string, { readonly via: readonly (Advisory | string)[] }>>
  readonly message?: string
  readonly statusCode?: number
}

const GRAVE = ['high', 'critical']

/** Answers of registries without audits, such as a mirror inside a company. */
const NO_AUDITS = [404, 405, 501]

/** Judges the output of `npm audit --json`. Fails without a report, unless the registry has no audits. */
export function judge(output: string, accepted: readonly Accepted[]): { lines: string[]; isFailed: boolean } {
  const report = parse(output)
  if (report?.vulnerabilities === undefined) {
    const hasNone = NO_AUDITS.includes(report?.statusCode ?? 0)
    const reason = report?.message ?? 'npm audit printed no report'
    const next = hasNone ? 'This registry has no audits; run this step against one that has.' : 'Run this step again.'
    return { lines: [`NOT CHECKED: ${reason}. ${next}`], isFailed: !hasNone }
  }
  const advisories = new Map<string, Advisory>()
  for (const { via } of Object.values(report.vulnerabilities)) {
    for (const one of via) if (typeof one !== 'string' && GRAVE.includes(one.severity)) advisories.set(one.url, one)
  }
  const listed = [...advisories.values()].map((one) => ({ one, known: accepted.find(({ advisory }) => one.url.endsWith(advisory)) }))
  const lines = listed.map(({ one: { name, range, severity, title, url }, known }) => {
    const finding = `${name} ${range}: ${severity}, ${title} (${url})`
    return known === undefined
      ? `${finding}. Take a newer version, or list it in .ci/accepted-advisories.json with a reason.`
      : `${finding}. Accepted: ${known.reason}`
  })
  const unused = accepted.filter((one) => listed.every(({ known }) => known !== one))
  const stale = unused.map(({ advisory }) => `.ci/accepted-advisories.json lists ${advisory}, which npm does not find any more: remove it.`)
  if (lines.length === 0) lines.push('no known weakness, high or critical, in a package that the product brings along')
  return { lines: [...lines, ...stale], isFailed: listed.some(({ known }) => known === undefined) }
}

function parse(output: string): Report | null {
  try {
    return JSON.parse(output) as Report
  } catch {
    return null
  }
}
