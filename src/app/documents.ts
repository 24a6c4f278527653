import { type Config, proxySettings } from '../config/config.ts'
import { DocumentFetcher } from '../documents/fetch/fetcher.ts'
import { Space } from '../documents/fetch/space.ts'
import { DocumentSweeper } from '../documents/fetch/sweeper.ts'
import { createDocumentStorage } from '../documents/storage/create.ts'
import { Elsewhere } from '../upstream/http/elsewhere.ts'
import type { BackgroundParts } from './operating.ts'
import type { GroupServices } from './service-groups.ts'

export function makeDocuments({ config, clients, ...common }: BackgroundParts): GroupServices {
  const { maxBytes, totalBytes, hosts } = config.documents
  const storage = createDocumentStorage(config)
  const space = new Space(common, totalBytes)
  const elsewhere = new Elsewhere({ hosts, proxy: proxySettings(config) })
  const fetchers = config.accounts.flatMap(({ name, baseUrl }: Config['accounts'][number]) => {
    const client = clients.get(name)
    if (client === undefined) return []
    return [new DocumentFetcher({ ...common, account: name, baseUrl, client, elsewhere, storage, space, maxBytes, hosts })]
  })
  return { services: [new DocumentSweeper({ ...common, storage }), ...fetchers], close: () => elsewhere.close() }
}
