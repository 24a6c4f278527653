/** @returns a heading's anchor, as on GitHub: lower case, no punctuation, hyphens for spaces. */
export function anchorOf(heading: string): string {
  const text = heading.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1').trim()
  return text
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\p{M}\p{Pc} -]/gu, '')
    .replaceAll(' ', '-')
}

/** @returns sections by anchor; repeated headings get -1, -2 … in their anchors. */
export function sectionsOf(text: string): ReadonlyMap<string, string> {
  const sections = new Map<string, string>()
  const times = new Map<string, number>()
  for (const part of withoutCode(text)
    .split(/^(?=#{1,6} )/m)
    .filter((each) => each.startsWith('#'))) {
    const anchor = anchorOf((part.split('\n', 1)[0] ?? '').replace(/^#+ /, ''))
    const before = times.get(anchor) ?? 0
    times.set(anchor, before + 1)
    sections.set(before === 0 ? anchor : `${anchor}-${before}`, part)
  }
  return sections
}

export function linksOf(text: string): string[] {
  const prose = withoutCode(text).replace(/`[^`\n]*`/g, '`')
  return [...prose.matchAll(/\]\(([^)\s]+)(?: "[^"]*")?\)/g)].map(([, target = '']) => target)
}

function withoutCode(text: string): string {
  return text.replace(/^( *)```.*\n[\s\S]*?^\1```$/gm, (block) => block.replace(/[^\n]+/g, ''))
}
