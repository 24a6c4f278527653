/** Reading Markdown as far as the tests of the documents need it: headings as GitHub numbers their anchors, and links. */

/** @returns the anchor of a heading, as GitHub makes it: lower case, no punctuation, a hyphen for each space. */
export function anchorOf(heading: string): string {
  const text = heading.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1').trim()
  return text
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\p{M}\p{Pc} -]/gu, '')
    .replaceAll(' ', '-')
}

/** @returns the text of each section by its anchor; a heading that stands twice gets -1, -2 … behind its second, third … anchor. */
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

/** @returns the targets of all links and images, as they are written. Code holds none. */
export function linksOf(text: string): string[] {
  const prose = withoutCode(text).replace(/`[^`\n]*`/g, '`')
  return [...prose.matchAll(/\]\(([^)\s]+)(?: "[^"]*")?\)/g)].map(([, target = '']) => target)
}

/** The lines of blocks of code become empty: what looks like a heading or a link in them is none. */
function withoutCode(text: string): string {
  return text.replace(/^( *)```.*\n[\s\S]*?^\1```$/gm, (block) => block.replace(/[^\n]+/g, ''))
}
