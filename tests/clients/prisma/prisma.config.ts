import { defineConfig } from 'prisma/config'
import pg from 'pg'
import { PrismaPg } from '@prisma/adapter-pg'

// The adapter does not know the types "char", name and name[], in which PostgreSQL's catalog answers: it is told text.
const TEXTS: Record<number, number> = { 18: 25, 19: 25, 1003: 1009 }

class Pool extends pg.Pool {
  async query(...words: any[]): Promise<any> {
    const result = await (super.query as any)(...words)
    for (const field of result.fields) field.dataTypeID = TEXTS[field.dataTypeID] ?? field.dataTypeID
    return result
  }
}

export default defineConfig({
  experimental: { adapter: true },
  engine: 'js',
  schema: 'schema.prisma',
  adapter: async () => new PrismaPg(new Pool({ allowExitOnIdle: true }) as any, { schema: process.env.PGUSER }),
})
