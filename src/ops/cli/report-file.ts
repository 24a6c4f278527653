import { randomUUID } from 'node:crypto'
import { accessSync, constants, statSync } from 'node:fs'
import { basename, dirname, extname, join, resolve } from 'node:path'
import { replaceFile } from '../../base/durable-file.ts'
import { messageOf } from '../../base/errors.ts'
import { renderHtml } from '../../reconcile/report/html.ts'
import type { ReportData } from '../../reconcile/report/report-data.ts'

/** @returns why a report cannot be written to `path`, in a sentence; null when it can. */
export function reportProblem(path: string): string | null {
  if (extname(path).toLowerCase() !== '.html') return `--report: ${JSON.stringify(path)} must end with .html: a report is a page`
  const folder = dirname(path)
  if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory()) return `--report: there is no folder ${folder}; make it first`
  try {
    accessSync(folder, constants.W_OK)
    return null
  } catch (error) {
    return `--report: nothing can be written to the folder ${resolve(folder)} (${messageOf(error)}); name another one`
  }
}

/**
 * Writes a report to a temporary file and renames it, so that the file at `path` is always whole.
 * @param path of a page; an existing file is replaced.
 * @throws Error with a sentence that names the file, when it cannot be written.
 */
export async function writeReportFile(path: string, data: ReportData): Promise<void> {
  const beside = join(dirname(path), `.${basename(path)}.${randomUUID()}`)
  try {
    // A report is kept as evidence: it must survive a power cut.
    await replaceFile(path, beside, renderHtml(data))
  } catch (error) {
    throw new Error(
      `the report cannot be written to ${path} (${messageOf(error)}); the run is stored, so write its report elsewhere with \`reconcile show RUN --report FILE\``,
      {
        cause: error,
      },
    )
  }
}
