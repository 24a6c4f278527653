import { PDFDocument } from 'pdf-lib'
import { expect, test } from 'vitest'
import { matched } from '../writer.ts'

test('a form-fill session ends with the forms as documents', async () => {
  const { writer, pass, id, view } = await matched()
  const { forms } = await view()
  const session = await writer.post(`/broker/submissions/${id}/form-fill-session`, {})
  expect(session).toMatchObject({ status: 200, body: { workflow_version: 'structured_v1', forms_assigned: forms } })
  expect(await view()).toMatchObject({ form_fill_active: true, documents_on_file: [] })
  pass(180)
  const after = await view()
  expect(after).toMatchObject({ form_fill_active: false })
  expect(after.documents_on_file.map(({ kind }: { kind: string }) => kind)).toEqual(forms.map(() => 'form'))
  const { messages } = (await writer.get(`/broker/submissions/${id}/thread`)).body
  const { attachments } = messages.at(-1)
  expect(attachments).toHaveLength(forms.length)
  for (const { download_path } of attachments) {
    const file = await writer.raw(download_path)
    expect(file.headers.get('content-type')).toBe('application/pdf')
    expect((await PDFDocument.load(await file.arrayBuffer())).getPageCount()).toBe(1)
  }
})

test('form_keys trims the set except the required form; the later of two sessions ends the filling', async () => {
  const { writer, pass, id, view } = await matched()
  const path = `/broker/submissions/${id}/form-fill-session`
  const trimmed = await writer.post(path, { form_keys: ['acord_999'] })
  expect(trimmed.body.forms_assigned).toEqual(['acord_125'])
  pass(60)
  const chosen = await writer.post(path, { form_keys: ['acord_126'] })
  expect(chosen.body.forms_assigned).toEqual(['acord_125', 'acord_126'])
  pass(120)
  expect(await view()).toMatchObject({ form_fill_active: true, documents_on_file: [{ kind: 'form' }] })
  pass(60)
  expect(await view()).toMatchObject({ form_fill_active: false })
})

test('trap 54: an unavailable PDF gets 502, and succeeds later', async () => {
  const { writer, sandbox, id } = await matched()
  const bytes = new TextEncoder().encode('%PDF-1.4')
  const { body } = await writer.upload(`/broker/submissions/${id}/documents`, {}, { name: 'a.pdf', bytes })
  sandbox.faults.set([{ kind: 'pdf_unavailable', count: 1 }])
  expect((await writer.raw('/broker/finalized-documents/00000000-0000-4000-8000-000000000000/pdf')).status).toBe(404)
  expect((await writer.raw(body.download_path)).status).toBe(502)
  expect((await writer.raw(body.download_path)).status).toBe(200)
})
