import type { Submission } from '../world/submission.ts'
import { policiesOf } from './policies.ts'

/** Content of a document. Uploads of any type are sent as `application/pdf`. */
interface DocumentFile {
  readonly contentType: 'application/pdf'
  readonly bytes: Buffer
}

/**
 * @returns the file at a path below the base URL; undefined if no submission has such a file. Each call returns the
 * same bytes.
 */
export function fileAt(submissions: readonly Submission[], path: string): DocumentFile | undefined {
  const stored = submissions.flatMap(({ records }) => records.documents).find(({ id }) => path === `/broker/finalized-documents/${id}/pdf`)
  if (stored) return { contentType: 'application/pdf', bytes: Buffer.from(stored.bytes, 'base64') }
  const isNamed = submissions.some((one) => pathsOf(one).some((each) => each === path))
  return isNamed ? { contentType: 'application/pdf', bytes: pdfOf(`Document ${path}`) } : undefined
}

function pathsOf(submission: Submission): (string | null | undefined)[] {
  const { thread, lanes } = submission
  const attached = thread.visible().flatMap(({ attachments }) => attachments.map(({ download_path }) => download_path))
  const originals = [...lanes.values()].flatMap(({ rail }) => rail.source_offers.map(({ document_url }) => document_url))
  const ofPolicies = policiesOf(submission).flatMap(({ documents }) => documents.map(({ download_path }) => download_path))
  return [...attached, ...originals, ...ofPolicies]
}

/**
 * @param text ASCII text.
 * @returns a PDF of one page with the text.
 */
export function pdfOf(text: string): Buffer {
  const stream = `BT /F1 12 Tf 40 740 Td (${text.replace(/[()\\]/g, '\\$&')}) Tj ET`
  const objects = [
    '<< /Type /Catalog /Pages 2 0 R >>',
    '<< /Type /Pages /Kids [3 0 R] /Count 1 >>',
    '<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>',
    `<< /Length ${stream.length} >>\nstream\n${stream}\nendstream`,
    '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>',
  ]
  let body = '%PDF-1.4\n'
  const offsets = objects.map((object, index) => {
    const offset = body.length
    body += `${index + 1} 0 obj\n${object}\nendobj\n`
    return String(offset).padStart(10, '0')
  })
  const table = ['0000000000 65535 f ', ...offsets.map((offset) => `${offset} 00000 n `)].join('\n')
  const trailer = `trailer\n<< /Size ${objects.length + 1} /Root 1 0 R >>\nstartxref\n${body.length}\n%%EOF\n`
  return Buffer.from(`${body}xref\n0 ${objects.length + 1}\n${table}\n${trailer}`)
}
