// Checks a document with swagger-parser, and tells its title.
import parser from '@apidevtools/swagger-parser';

const api = await parser.validate(process.argv[2]);
console.log(api.info.title);
