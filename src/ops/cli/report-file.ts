import { randomUUID } from 'node:crypto'
import { statSync } from 'node:fs'
import { open, rename, rm } from 'node:fs/promises'
import { basename, dirname, extname, join } from 'node:path'
import { messageOf } from '../../base/errors.ts'
import { renderHtml } from '../../reconcile/report/html.ts'
import { renderMarkdown } from '../../reconcile/report/markdown.ts'
import type { ReportData } from '../../reconcile/report/report-data.ts'

const formats: Readonly<Record<string, (data: ReportData) => string>> = { '.md': renderMarkdown, '.html': renderHtml }

/** @returns what is wrong with a place for a report, as a sentence for the command line, or null. The name's ending is the format. */
export function reportProblem(path: string): string | null {
  if (!(extname(path).toLowerCase() in formats)) {
    return `--report: ${JSON.stringify(path)} must end with .md or .html, which is the report's format`
  }
  if (statSync(dirname(path), { throwIfNoEntry: false })?.isDirectory()) return null
  return `--report: there is no folder ${dirname(path)}; make it first`
}

/**
 * Writes a report so that the file is always whole: beside its place first, then to it.
 * @param path ends with `.md` or `.html`; what is there is replaced.
 * @throws Error with a sentence that names the file, when it cannot be written there.
 */
export async function writeReportFile(path: string, data: ReportData): Promise<void> {
  const render = formats[extname(path).toLowerCase()]
  if (!render) throw new RangeError(reportProblem(path) ?? path)
  const beside = join(dirname(path), `.${basename(path)}.${randomUUID()}`)
  try {
    const file = await open(beside, 'wx', 0o640)
    try {
      await file.writeFile(render(data))
      // It is kept as evidence: it shall be there after a power cut, too.
      await file.sync()
    } finally {
      await file.close()
    }
    await rename(beside, path)
  } catch (error) {
    await rm(beside, { force: true })
    throw new Error(
      `the report cannot be written to ${path} (${messageOf(error)}); the run itself is stored, so ask for it again at another place`,
      {
        cause: error,
      },
    )
  }
}
