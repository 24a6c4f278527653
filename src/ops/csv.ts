/** @returns what separates the cells of a heading: comma, semicolon or tab, whichever it holds. */
export function separatorIn(heading: string): string {
  return [',', ';', '\t'].find((each) => heading.includes(each)) ?? ','
}

/** The cells of a CSV line. Quoted cells may hold the separator and doubled quotes, but no line break. */
export function cellsOf(line: string, separator: string): string[] {
  const cells: string[] = []
  let cell = ''
  let quoted = false
  for (let i = 0; i < line.length; i++) {
    const character = line[i]
    if (character === '"' && quoted && line[i + 1] === '"') {
      cell += '"'
      i += 1
    } else if (character === '"') quoted = !quoted
    else if (character === separator && !quoted) {
      cells.push(cell.trim())
      cell = ''
    } else cell += character
  }
  return [...cells, cell.trim()]
}
