import { invalid } from './parse.ts'
import type { UploadedFile } from './uploads.ts'

/**
 * Reads a submission from free text and files, as far as the sandbox does: the first line, or the first file's name, names the insured,
 * and `, ST` the state.
 * @throws Refusal 422 when there is neither text nor a file.
 */
export function intakeBody({ fields, files }: { fields: Readonly<Record<string, string>>; files: readonly UploadedFile[] }): unknown {
  const text = (fields['text'] ?? '').trim()
  if (text === '' && files.length === 0) throw invalid(['body', 'text'], 'Send text, files, or both', 'missing')
  const firstLine = text.split('\n')[0]?.split(/[,.;]/)[0]?.trim()
  const name = firstLine || files[0]?.name.replace(/\.pdf$/i, '') || 'Unnamed insured'
  const state = /, ([A-Z]{2})\b/.exec(text)?.[1]
  return {
    applicant: { insured_name: name.slice(0, 256) },
    narrative: text || `From ${files.map((file) => file.name).join(', ')}`,
    producer_email: fields['producer_email'],
    ...(state !== undefined && { primary_state: state }),
    ...(fields['hold'] === 'true' && { hold: true }),
  }
}
