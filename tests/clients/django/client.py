"""Django: its own migrations and those of a small shop, the shop at work, and all of it taken back.

The shop's migrations are made by `makemigrations` into the work folder: that the second run finds
nothing to do, and that `inspectdb` writes the models down again, is what is checked of them.
"""

import datetime
import io
import os
import sys
import threading
import uuid
from decimal import Decimal
from pathlib import Path

import django
from checks import KEEPS_THE_PAST, holds, part, refused, same, tell

WORK = Path(os.environ["WORK"]) / "django"
(WORK / "written").mkdir(parents=True)
(WORK / "written/__init__.py").write_text("")
sys.path.insert(0, str(WORK))
os.environ["DJANGO_SETTINGS_MODULE"] = "settings"
django.setup()

from django.contrib.auth.models import Group, Permission, User  # noqa: E402
from django.core.management import call_command  # noqa: E402
from django.db import connection, transaction  # noqa: E402
from django.db.models import (  # noqa: E402
    Avg, Case, Count, Exists, ExpressionWrapper, F, FloatField, Max, OuterRef, Prefetch, Q,
    Subquery, Sum, Value, When, Window)
from django.db.models.functions import (  # noqa: E402
    Coalesce, Concat, ExtractYear, Lower, Rank, RowNumber, TruncMonth, Upper)
from django.contrib.postgres.aggregates import ArrayAgg, StringAgg  # noqa: E402
from shop.models import Line, Order, Product, Tag  # noqa: E402


def told(*words, **options):
    """What a command of manage.py says."""
    out = io.StringIO()
    call_command(*words, stdout=out, stderr=out, no_color=True, **options)
    return out.getvalue()


@part
def migrated():
    said = told("makemigrations", "shop", name="first")
    holds("Create model Product" in said, said)
    said = told("migrate")
    holds("Applying auth.0012_alter_user_first_name_max_length... OK" in said, said)
    holds("Applying shop.0001_first... OK" in said, said)
    holds("No migrations to apply" in told("migrate"))
    holds("No changes detected" in told("makemigrations"))
    holds("[X] 0001_first" in told("showmigrations", "shop"))
    holds("no issues" in told("check", databases=["default"]))
    same(ContentTypes(), {"product", "order", "line", "tag"})
    same(Permission.objects.filter(codename__endswith="_product").count(), 4)


def ContentTypes():
    from django.contrib.contenttypes.models import ContentType
    return set(ContentType.objects.filter(app_label="shop").values_list("model", flat=True))


@part
def tables_are_looked_at():
    look = connection.introspection
    with connection.cursor() as cursor:
        names = {table.name for table in look.get_table_list(cursor)}
        holds({"shop_product", "auth_user", "django_session"} <= names)
        comments = {table.name: table.comment for table in look.get_table_list(cursor)}
        same(comments["shop_product"], "What is sold")
        found = look.get_constraints(cursor, "shop_product")
        same(found["one_title"]["unique"], True)
        same(found["price_is_not_negative"]["check"], True)
        same(found["by_kind"]["columns"], ["kind", "price"])
        same(found["by_kind"]["orders"], ["ASC", "DESC"])
        same(found["shop_product_pkey"]["primary_key"], True)
        same(any(name.endswith("_like") for name in found), True)
        keys = look.get_constraints(cursor, "shop_line")
        same(sorted(key["foreign_key"] for key in keys.values() if key["foreign_key"]),
             [("shop_order", "id"), ("shop_product", "id")])
        same(look.get_relations(cursor, "shop_line"),
             {"order_id": ("id", "shop_order"), "product_id": ("id", "shop_product")})
        same(look.get_primary_key_column(cursor, "shop_order"), "id")
        same([s["name"] for s in look.get_sequences(cursor, "shop_order")], ["shop_order_id_seq"])
    written = told("inspectdb", "shop_product", "shop_order", "shop_line")
    for words in ("class ShopProduct(models.Model):", "id = models.BigAutoField(primary_key=True)",
                  "title = models.CharField(max_length=100)",
                  "price = models.DecimalField(max_digits=8, decimal_places=2)",
                  "data = models.JSONField()", "added = models.DateTimeField()",
                  "code = models.UUIDField(unique=True, blank=True, null=True)",
                  "weight = models.FloatField(blank=True, null=True)",
                  "took = models.DurationField(blank=True, null=True)",
                  "file = models.BinaryField(blank=True, null=True)",
                  "customer = models.ForeignKey(AuthUser, models.DO_NOTHING)"
                  if "class AuthUser" in written else "models.ForeignKey('AuthUser', models.DO_NOTHING)",
                  "quantity = models.SmallIntegerField()", "db_table = 'shop_product'",
                  "db_table_comment = 'What is sold'",
                  "db_comment='When the money is here'"):
        holds(words in written, f"{words} is not in\n{written}")


@part
def things_are_kept():
    ada = User.objects.create_user("ada", "ada@example.org", "secret")
    User.objects.create_superuser("root", "root@example.org", "secret")
    same(User.objects.get(username="ada").check_password("secret"), True)
    staff = Group.objects.create(name="staff")
    staff.permissions.set(Permission.objects.filter(content_type__app_label="shop"))
    ada.groups.add(staff)
    same(User.objects.get(pk=ada.pk).has_perm("shop.add_product"), True)

    tags = Tag.objects.bulk_create([Tag(name=f"tag-{n}") for n in range(5)])
    same([tag.pk for tag in tags], [1, 2, 3, 4, 5])
    book = Product.objects.create(title="Emma", price=Decimal("9.50"), sizes=[1, 2],
                                  code=uuid.UUID(int=7), data={"by": {"name": "Austen"}, "n": [1, 2]})
    book.refresh_from_db()
    same(book.gross, Decimal("19.00"))
    same(book.added.tzinfo is not None, True)
    book.tags.add(*tags[:2])
    toys = [Product(title=f"Toy {n}", kind="t", price=n, sizes=[n], data={"n": n}) for n in range(200)]
    Product.objects.bulk_create(toys, batch_size=64)
    same(Product.objects.count(), 201)
    order = Order.objects.create(customer=ada, weight=1.5, took=datetime.timedelta(days=2, seconds=3),
                                 file=b"\0\xff")
    order.refresh_from_db()
    same((order.took, bytes(order.file), order.placed), (
        datetime.timedelta(days=2, seconds=3), b"\0\xff", order.placed))
    order.lines.create(product=book, quantity=3)
    order.lines.create(product=Product.objects.get(title="Toy 7"))
    same([(line.product.title, line.quantity) for line in order.lines.select_related("product")],
         [("Emma", 3), ("Toy 7", 1)])


@part
def questions_are_asked():
    same(Product.objects.aggregate(Max("price"), n=Count("id"), mean=Avg("price", filter=Q(kind="t"))),
         {"price__max": Decimal("199.00"), "n": 201, "mean": Decimal("99.50")})
    same(list(Product.objects.values("kind").annotate(n=Count("id"), sum=Sum("price"))
              .order_by("kind").values_list("kind", "n", "sum")),
         [("b", 1, Decimal("9.50")), ("t", 200, Decimal("19900.00"))])
    dear = Product.objects.annotate(place=Window(Rank(), partition_by="kind", order_by="-price"))
    same(list(dear.filter(place=1).order_by("kind").values_list("title", flat=True)),
         ["Emma", "Toy 199"])
    numbered = Product.objects.annotate(nr=Window(RowNumber(), order_by=["price", "id"]))
    same(numbered.filter(title="Emma").first().nr > 0, True)
    newest = Line.objects.filter(product=OuterRef("pk")).order_by("-id")
    bought = Product.objects.annotate(last=Subquery(newest.values("quantity")[:1]),
                                      is_bought=Exists(newest)).filter(is_bought=True)
    same(list(bought.order_by("title").values_list("title", "last")), [("Emma", 3), ("Toy 7", 1)])
    same(Product.objects.filter(data__by__name="Austen").get().title, "Emma")
    same(Product.objects.filter(data__by__name__icontains="aus").count(), 1)
    same(Product.objects.filter(data__n__gte=198).count(), 3)
    same(Product.objects.filter(data__contains={"n": [1]}).count(), 1)
    same(Product.objects.filter(data__has_key="by").count(), 1)
    same(Product.objects.filter(data__n__0=1).count(), 1)
    same(Product.objects.filter(sizes__contains=[2]).count(), 2)
    same(Product.objects.filter(sizes__overlap=[3, 4]).count(), 2)
    same(Product.objects.filter(sizes__0=1, sizes__len=2).count(), 1)
    same(Product.objects.filter(title__iexact="EMMA").count(), 1)
    same(Product.objects.filter(title__regex=r"^Toy 1\d$").count(), 10)
    same(Product.objects.filter(title__startswith="Toy", price__in=[1, 2, 3]).count(), 3)
    same(Product.objects.filter(added__year=datetime.datetime.now(datetime.timezone.utc).year).count(), 201)
    same(Product.objects.annotate(y=ExtractYear("added"), m=TruncMonth("added"))
         .values("y", "m").distinct().count(), 1)
    same(Product.objects.annotate(t=Concat(Upper("title"), Value("!"))).get(t="EMMA!").pk, 1)
    same(list(Product.objects.filter(tags__name__in=["tag-0", "tag-1"]).distinct()
              .values_list("title", flat=True)), ["Emma"])
    same(Product.objects.exclude(tags__name="tag-0").count(), 200)
    same(Tag.objects.filter(products=None).aggregate(all=StringAgg("name", "+", ordering="-name")),
         {"all": "tag-4+tag-3+tag-2"})
    same(Tag.objects.aggregate(all=ArrayAgg("id", ordering="id")), {"all": [1, 2, 3, 4, 5]})
    sized = Product.objects.annotate(size=Case(When(price__lt=100, then=Value("low")),
                                               default=Value("high")))
    same(dict(sized.values_list("size").annotate(n=Count("id"))), {"low": 101, "high": 100})
    same(User.objects.annotate(spent=Coalesce(Sum(F("orders__lines__quantity")
                                                  * F("orders__lines__product__price")),
                                              Value(Decimal(0)))).get(username="ada").spent,
         Decimal("35.50"))
    half = ExpressionWrapper(F("price") / 2.0, output_field=FloatField())
    same(Product.objects.annotate(half=half).get(title="Toy 7").half, 3.5)
    both = Product.objects.filter(price__lt=2).union(Product.objects.filter(title="Emma"))
    same(both.count(), 3)
    same(Product.objects.filter(kind="b").difference(Product.objects.filter(price=1)).count(), 1)
    same([order.customer.username for order in Order.objects.prefetch_related(
        Prefetch("lines", Line.objects.select_related("product"))).select_related("customer")], ["ada"])
    same(Product.objects.in_bulk([1])[1].title, "Emma")
    same(sum(1 for _ in Product.objects.iterator(chunk_size=50)), 201)
    same(Product.objects.order_by(Lower("title").desc(), "id")[1:3].count(), 2)
    same(Order.objects.dates("placed", "year").count(), 1)
    holds(Product.objects.filter(pk=1).explain())
    same(list(Product.objects.distinct("kind").order_by("kind", "-price").values_list("title", flat=True)),
         ["Emma", "Toy 199"])


@part
def changes_are_made():
    same(Product.objects.filter(kind="t").update(price=F("price") + 1), 200)
    first, made = Product.objects.get_or_create(title="Emma", kind="b")
    same((first.pk, made), (1, False))
    tag, made = Tag.objects.update_or_create(name="tag-0", defaults={"name": "tag-zero"})
    same((tag.pk, made), (1, False))
    Tag.objects.bulk_create([Tag(name="tag-1"), Tag(name="new")], ignore_conflicts=True)
    same(Tag.objects.count(), 6)
    Tag.objects.bulk_create([Tag(id=2, name="tag-one")], update_conflicts=True,
                            unique_fields=["id"], update_fields=["name"])
    same(Tag.objects.get(pk=2).name, "tag-one")
    toys = list(Product.objects.filter(kind="t").order_by("id")[:3])
    for toy in toys:
        toy.title += "!"
    same(Product.objects.bulk_update(toys, ["title"]), 3)
    same(Product.objects.filter(title__endswith="!").count(), 3)
    same(Product.objects.filter(title__endswith="!").delete()[0], 3)
    for state, change in [
        ("23505", lambda: Product.objects.create(title="EMMA")),
        ("23514", lambda: Product.objects.create(title="x", price=-1)),
        ("23505", lambda: Tag.objects.create(name="new")),
    ]:
        with refused(state), transaction.atomic():
            change()


@part
def blocks_within_blocks():
    with transaction.atomic():
        Tag.objects.create(name="outer")
        try:
            with transaction.atomic():
                Tag.objects.create(name="inner")
                raise KeyError
        except KeyError:
            pass
        point = transaction.savepoint()
        Tag.objects.create(name="point")
        transaction.savepoint_rollback(point)
        seen = []
        transaction.on_commit(lambda: seen.append("done"))
        same(seen, [])
    same(seen, ["done"])
    same(set(Tag.objects.filter(name__in=["outer", "inner", "point"]).values_list("name", flat=True)),
         {"outer"})
    # A constraint that is looked at when the block ends.
    line = Line.objects.get(product__title="Emma")
    with refused("23505"), transaction.atomic():
        Line.objects.create(order=line.order, product=line.product)
        same(Line.objects.filter(product__title="Emma").count(), 2)
    with refused("23503"), transaction.atomic():
        Line.objects.create(order_id=999, product=line.product)
        same(Line.objects.filter(order_id=999).count(), 1)
    with transaction.atomic():
        locked = Product.objects.select_for_update().get(title="Emma")
        other = []

        def meet():
            try:
                with transaction.atomic():
                    other.append(Product.objects.select_for_update(skip_locked=True)
                                 .filter(pk=locked.pk).count())
                    list(Product.objects.select_for_update(nowait=True, of=("self",))
                         .filter(pk=locked.pk))
            except django.db.utils.OperationalError as error:
                other.append(error.__cause__.sqlstate)
            finally:
                connection.close()

        thread = threading.Thread(target=meet)
        thread.start()
        thread.join()
        same(other[1:], ["55P03"])


@part
def the_admin_shows_it():
    from django.contrib import admin
    from django.test import RequestFactory
    from django.contrib.admin.options import ModelAdmin

    class ProductAdmin(ModelAdmin):
        list_display = ["title", "price"]
        list_filter = ["kind", "added"]
        search_fields = ["title", "tags__name"]

    request = RequestFactory().get("/", {"q": "emma", "kind__exact": "b"})
    request.user = User.objects.get(username="root")
    changes = ProductAdmin(Product, admin.site).get_changelist_instance(request)
    same([product.title for product in changes.queryset], ["Emma"])


@part
def the_past():
    if not KEEPS_THE_PAST:
        return
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        then = cursor.fetchone()[0]
        Product.objects.filter(pk=1).update(price=99)
        cursor.execute("SELECT price FROM shop_product FOR SYSTEM_TIME AS OF %s WHERE id = 1", [then])
        same(cursor.fetchone(), (Decimal("9.50"),))


@part
def dumped_and_loaded():
    dump = WORK / "dump.json"
    told("dumpdata", "shop", "auth.user", "auth.group", output=str(dump))
    before = Product.objects.count()
    told("flush", interactive=False)
    same((Product.objects.count(), User.objects.count()), (0, 0))
    same(Tag.objects.create(name="after the flush").pk, 1)  # the numbers begin anew
    told("flush", interactive=False)
    told("loaddata", str(dump))
    same(Product.objects.count(), before)
    told("sqlsequencereset", "shop")
    same(Product.objects.get(title="Emma").tags.count(), 2)


@part
def migrated_back_and_forth():
    (WORK / "written/0002_more.py").write_text('''
from django.db import migrations, models
def fill(apps, editor):
    apps.get_model("shop", "Tag").objects.update(colour="grey")
class Migration(migrations.Migration):
    dependencies = [("shop", "0001_first")]
    operations = [
        migrations.AddField("tag", "colour", models.CharField(max_length=9, null=True)),
        migrations.RunPython(fill, migrations.RunPython.noop),
        migrations.AlterField("tag", "colour", models.CharField(max_length=20, default="x", db_index=True)),
        migrations.RenameField("order", "weight", "heft"),
        migrations.AlterField("order", "heft", models.DecimalField(max_digits=9, decimal_places=3, null=True)),
        migrations.RemoveConstraint("product", "price_is_not_negative"),
        migrations.RenameIndex("product", "by_kind2", old_name="by_kind"),
        migrations.AlterField("line", "quantity", models.BigIntegerField(default=1)),
        migrations.AlterUniqueTogether("order", {("customer", "id")}),
        migrations.RenameModel("Tag", "Label"),
        migrations.AlterModelTable("Line", "lines_of_orders"),
        migrations.AlterModelTableComment("Product", "Otherwise"),
        migrations.CreateModel("Extra", [("id", models.UUIDField(primary_key=True)),
            ("label", models.OneToOneField("shop.Label", models.CASCADE))]),
        migrations.RunSQL("CREATE VIEW cheap AS SELECT * FROM shop_product WHERE price < 5",
                          "DROP VIEW cheap"),
    ]
''')
    holds("Applying shop.0002_more... OK" in told("migrate"))
    with connection.cursor() as cursor:
        cursor.execute("SELECT colour, count(*) FROM shop_label GROUP BY 1")
        same(cursor.fetchall(), [("grey", 7)])
        cursor.execute("SELECT heft FROM shop_order")
        same(cursor.fetchall(), [(Decimal("1.500"),)])
        cursor.execute("SELECT sum(quantity) FROM lines_of_orders")
        same(cursor.fetchall(), [(Decimal(4),)])
    holds("Unapplying shop.0002_more... OK" in told("migrate", "shop", "0001"))
    same(Order.objects.get().weight, 1.5)
    same(Line.objects.count(), 2)
    with refused("23514"):
        Product.objects.create(title="y", price=-1)
    holds("Unapplying shop.0001_first... OK" in told("migrate", "shop", "zero"))
    for app in ("admin", "auth", "contenttypes", "sessions"):
        told("migrate", app, "zero")
    same(connection.introspection.table_names(), ["django_migrations"])


tell(f"Django {django.__version__}")
